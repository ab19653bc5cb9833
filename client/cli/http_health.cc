// SPDX-License-Identifier: Apache-2.0
#include "cli/http_health.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "cli/printable.h"
#include "cli/tcp_connection.h"
#include "os/descriptor.h"
#include "transport/channels.h"

namespace lockkeeper::cli {
namespace {

constexpr size_t kAnswerBytesMax = 4'096;

// Up to the end of the connection, or as much as has come by then.
std::string ReadAnswer(const os::Descriptor& connection) {
  std::string answer;
  std::array<char, 1'024> bytes{};
  while (answer.size() < kAnswerBytesMax) {
    const ssize_t got = recv(connection.get(), bytes.data(), bytes.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    answer.append(bytes.data(), static_cast<size_t>(got));
  }
  return answer;
}

Report NoAnswer(const std::string& address, const std::string& why) {
  return ErrorReport(absl::UnavailableError(address + ": " + why), "");
}

}  // namespace

std::string ProblemOfHttpAddress(const std::string& address) {
  const bool is_host_and_port = client::CheckAddress(address).ok() &&
                                !address.starts_with("unix:") &&
                                address.find_first_of("/@?#") == std::string::npos;
  return is_host_and_port ? "" : "must be HOST:PORT; it asks without TLS";
}

Report HttpHealth(const std::string& address, milliseconds timeout) {
  const os::Descriptor connection = ConnectTo(SplitHostPort(address), timeout);
  if (!connection.valid()) {
    if (errno == 0) return NoAnswer(address, "the name has no address");
    return NoAnswer(address, errno == EINPROGRESS ? "no answer" : std::strerror(errno));
  }
  // HTTP/1.0: the answer ends with the connection (RFC 1945).
  const std::string request = "GET /readyz HTTP/1.0\r\nHost: " + address + "\r\n\r\n";
  send(connection.get(), request.data(), request.size(), MSG_NOSIGNAL);
  const std::string answer = ReadAnswer(connection);
  // "HTTP/1.1 200 OK"
  constexpr size_t kStatusAt = 9;
  if (!answer.starts_with("HTTP/1.") || answer.size() < kStatusAt + 3) {
    return NoAnswer(address, answer.empty()
                                 ? "no answer; it may listen with TLS, which --http does not speak"
                                 : "this is no HTTP port without TLS");
  }
  const size_t body = answer.find("\r\n\r\n");
  const std::string page = body == std::string::npos ? "HTTP status " + answer.substr(kStatusAt, 3)
                                                     : answer.substr(body + 4);
  const bool is_serving = answer.compare(kStatusAt, 3, "200") == 0;
  // Of a daemon that serves: "ready", or "ready; " and what is wrong all the same, then notes.
  std::vector<std::string> lines = absl::StrSplit(page, '\n', absl::SkipWhitespace());
  if (is_serving && !lines.empty() && lines[0].starts_with("ready")) {
    lines[0].erase(0, lines[0].starts_with("ready; ") ? 7 : 5);
    if (lines[0].empty()) lines.erase(lines.begin());
  }
  for (std::string& line : lines) line = Printable(line);
  Report report(is_serving ? "serving" : "not_serving",
                is_serving ? ExitCode::kDone : ExitCode::kUnavailable,
                is_serving ? "serving" : "not serving");
  if (lines.empty()) return report;
  report.text += ": " + absl::StrJoin(lines, "\n  ");
  report.json.Set("message", absl::StrJoin(lines, "; "));
  return report;
}

}  // namespace lockkeeper::cli
