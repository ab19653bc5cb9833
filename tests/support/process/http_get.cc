// SPDX-License-Identifier: Apache-2.0
#include "support/process/http_get.h"

#include <netdb.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <memory>
#include <sstream>

#include "os/descriptor.h"

namespace lockkeeper::support {
namespace {

constexpr timeval kPatience{.tv_sec = 10, .tv_usec = 0};

os::Descriptor ConnectTo(const std::string& address) {
  const size_t colon = address.rfind(':');
  std::string host = address.substr(0, colon);
  if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), address.substr(colon + 1).c_str(), &hints, &found) != 0) return {};
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, freeaddrinfo);
  os::Descriptor socket(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof(kPatience));
  if (connect(socket.get(), found->ai_addr, found->ai_addrlen) != 0) return {};
  return socket;
}

}  // namespace

HttpAnswer HttpGet(const std::string& address, const std::string& path, const std::string& method) {
  const os::Descriptor socket = ConnectTo(address);
  // 1.0, so that the answer comes in one piece and ends with the connection.
  const std::string request = method + " " + path + " HTTP/1.0\r\nHost: " + address + "\r\n\r\n";
  send(socket.get(), request.data(), request.size(), MSG_NOSIGNAL);
  std::string bytes;
  std::array<char, 65536> buffer;
  for (ssize_t n = 0; (n = recv(socket.get(), buffer.data(), buffer.size(), 0)) > 0;) {
    bytes.append(buffer.data(), static_cast<size_t>(n));
  }
  return ParseHttpAnswer(bytes);
}

HttpAnswer ParseHttpAnswer(const std::string& bytes) {
  const size_t end = bytes.find("\r\n\r\n");
  if (!bytes.starts_with("HTTP/1.") || end == std::string::npos) return {};
  HttpAnswer answer{.status = std::atoi(bytes.c_str() + bytes.find(' ')),
                    .headers = {},
                    .body = bytes.substr(end + 4)};
  std::istringstream lines(bytes.substr(0, end));
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    if (line.ends_with('\r')) line.pop_back();
    const size_t colon = line.find(": ");
    if (colon == std::string::npos) continue;
    std::string name = line.substr(0, colon);
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    answer.headers[name] = line.substr(colon + 2);
  }
  return answer;
}

}  // namespace lockkeeper::support
