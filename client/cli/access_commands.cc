// SPDX-License-Identifier: Apache-2.0
#include "cli/access_commands.h"

#include <fcntl.h>
#include <openssl/sha.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "lockkeeper/v1/lock_service.grpc.pb.h"
#include "os/descriptor.h"
#include "os/random_bits.h"
#include "os/read_file.h"
#include "text/escape.h"
#include "text/principal.h"
#include "text/problem.h"

namespace lockkeeper::cli {
namespace {

// So that programs which search for secrets find a token that somebody has checked in.
constexpr char kTokenBegin[] = "lkt_";

absl::StatusOr<v1::CheckAccessResponse> Ask(AdminConnection& connection, const std::string& verb,
                                            const std::string& name) {
  const auto stub = v1::LockService::NewStub(connection.channel());
  v1::CheckAccessRequest request;
  request.set_verb(verb);
  request.set_name(name);
  v1::CheckAccessResponse response;
  const absl::Status status = connection.Call([&](grpc::ClientContext& context) {
    return stub->CheckAccess(&context, request, &response);
  });
  if (!status.ok()) return status;
  return response;
}

std::vector<std::string> RolesOf(const v1::CheckAccessResponse& response) {
  return {response.roles().begin(), response.roles().end()};
}

std::string NewToken() {
  const auto [a, b] = os::Random128Bits();
  const auto [c, d] = os::Random128Bits();
  return absl::StrCat(kTokenBegin, absl::Hex(a, absl::kZeroPad16), absl::Hex(b, absl::kZeroPad16),
                      absl::Hex(c, absl::kZeroPad16), absl::Hex(d, absl::kZeroPad16));
}

std::string HexHashOf(const std::string& token) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> hash{};
  SHA256(reinterpret_cast<const unsigned char*>(token.data()), token.size(), hash.data());
  return absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(hash.data()), hash.size()));
}

// The same rules as for the file of --token-file.
text::Problem ReadToken(std::istream& input, std::string& token) {
  std::string text(os::kPasswordBytesMax + 1, '\0');
  input.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(input.gcount()));
  if (text.size() > os::kPasswordBytesMax) {
    return "has more than " + std::to_string(os::kPasswordBytesMax) + " bytes";
  }
  return os::ParsePassword(std::move(text), token);
}

// Makes the file, which must not exist.
text::Problem WriteToken(const std::string& token, const std::string& path) {
  const os::Descriptor file(
      open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR));
  const std::string line = token + "\n";
  if (file.valid() &&
      write(file.get(), line.data(), line.size()) == static_cast<ssize_t>(line.size())) {
    return std::nullopt;
  }
  return "cannot write a new file " + text::Quoted(path) + ": " + std::strerror(errno);
}

}  // namespace

Report Whoami(AdminConnection& connection) {
  const auto answer = Ask(connection, "", "");
  if (!answer.ok()) return ErrorReport(answer.status(), "");
  std::string text = answer->principal();
  if (answer->proof() != answer->principal()) text += "\n  proof    " + answer->proof();
  if (!answer->issuer().empty()) text += "\n  issuer   " + answer->issuer();
  text +=
      "\n  roles    " + (answer->roles().empty() ? "none" : absl::StrJoin(RolesOf(*answer), " "));
  Report report("identified", ExitCode::kDone, text);
  report.json.Set("principal", answer->principal())
      .Set("proof", answer->proof())
      .Set("issuer", answer->issuer())
      .Set("roles", RolesOf(*answer));
  return report;
}

Report Can(AdminConnection& connection, const CanCommand& command) {
  const auto answer = Ask(connection, command.verb, command.name);
  if (!answer.ok()) return ErrorReport(answer.status(), command.name);
  const std::string what = command.verb + (command.name.empty() ? "" : " `" + command.name + "`");
  Report report(answer->allowed() ? "allowed" : "not_allowed",
                answer->allowed() ? ExitCode::kDone : ExitCode::kNotAllowed,
                answer->principal() + (answer->allowed() ? " may " : " may not ") + what);
  report.json.Set("principal", answer->principal())
      .Set("verb", command.verb)
      .Set("name", command.name)
      .Set("roles", RolesOf(*answer));
  return report;
}

Report MakeToken(const TokenCommand& command, std::istream& input, absl::Time now) {
  const bool is_new = command.action == TokenCommand::Action::kCreate;
  if (const text::Problem problem = text::CheckPrincipal(command.name)) {
    return UsageReport("--name: " + *problem);
  }
  absl::Time expires = absl::InfiniteFuture();
  std::string error;
  if (!command.expires.empty() &&
      !absl::ParseTime(absl::RFC3339_full, command.expires, &expires, &error)) {
    return UsageReport("--expires: must be a time such as 2027-01-31T00:00:00Z, is " +
                       text::Quoted(command.expires));
  }
  if (expires <= now) {
    return UsageReport("--expires: must be in the future, is " + text::Quoted(command.expires));
  }
  std::string token;
  if (is_new) {
    token = NewToken();
  } else if (const text::Problem problem = ReadToken(input, token)) {
    return UsageReport("`token hash` reads the token from standard input, which " + *problem);
  }
  const bool is_shown = is_new && command.out.empty();
  if (!command.out.empty()) {
    if (!is_new) return UsageReport("--out: `token hash` has no token to write");
    if (const text::Problem problem = WriteToken(token, command.out)) {
      return UsageReport("--out: " + *problem);
    }
  }
  const std::string hash = HexHashOf(token);
  std::string entry = "  - name: ";
  text::AppendJsonString(command.name, entry);  // Which YAML reads, whatever is in it.
  entry += "\n    sha256: " + hash;
  if (!command.expires.empty()) entry += "\n    expires: " + command.expires;
  Report report(is_new ? "token_created" : "token_hashed", ExitCode::kDone,
                is_shown ? token + "\n" + entry : entry);
  if (is_shown) report.json.Set("token", token);
  report.json.Set("name", command.name).Set("sha256", hash).Set("entry", entry);
  return report;
}

}  // namespace lockkeeper::cli
