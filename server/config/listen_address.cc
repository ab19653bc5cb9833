// SPDX-License-Identifier: Apache-2.0
#include "config/listen_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <charconv>
#include <optional>

#include "core/errors.h"
#include "text/problem.h"

namespace lockkeeper::config {
namespace {

constexpr std::string_view kUnixScheme = "unix:";
constexpr std::string_view kTlsScheme = "tls://";
constexpr std::string_view kMutualTlsScheme = "mtls://";
constexpr size_t kPathBytesMax = sizeof(sockaddr_un{}.sun_path) - 1;
constexpr size_t kHostBytesMax = 253;  // Of a DNS name.

absl::Status Malformed(const std::string& problem) {
  return core::Error(core::ErrorReason::kInvalidField, problem);
}

bool IsIpv6(const std::string& host) {
  in6_addr address;
  return inet_pton(AF_INET6, host.c_str(), &address) == 1;
}

std::optional<uint16_t> ParsePort(std::string_view text) {
  uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return port;
}

bool IsHostCharacter(char character) {
  return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z') ||
         (character >= '0' && character <= '9') || character == '.' || character == '-' ||
         character == '_';
}

absl::StatusOr<ListenAddress> ParseUnix(std::string_view text) {
  ListenAddress address;
  address.path = text.substr(kUnixScheme.size());
  if (address.path.empty() || address.path[0] != '/') {
    return Malformed(text::Quoted(text) + " must name an absolute path: unix:/path");
  }
  if (address.path.size() > kPathBytesMax) {
    return Malformed("the path of a unix socket has at most " + std::to_string(kPathBytesMax) +
                     " bytes; " + text::Quoted(text) + " has " +
                     std::to_string(address.path.size()));
  }
  return address;
}

// Splits at the last colon, and takes the brackets off an IPv6 address.
absl::StatusOr<ListenAddress> ParseTcp(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) {
    return Malformed(text::Quoted(text) + " has no port: host:port, [v6]:port or unix:/path");
  }
  ListenAddress address;
  address.host = text.substr(0, colon);
  const std::optional<uint16_t> port = ParsePort(text.substr(colon + 1));
  if (!port) return Malformed("the port of " + text::Quoted(text) + " must be from 0 to 65535");
  address.port = *port;

  if (address.host.empty()) {
    return Malformed(text::Quoted(text) +
                     " has no host; 127.0.0.1 is this machine, 0.0.0.0 everybody");
  }
  if (address.host.front() == '[' && address.host.back() == ']') {
    address.host = address.host.substr(1, address.host.size() - 2);
    if (!IsIpv6(address.host))
      return Malformed(text::Quoted(text) + " has no IPv6 address in brackets");
    return address;
  }
  for (const char character : address.host) {
    if (character == ':') {
      return Malformed("the IPv6 address of " + text::Quoted(text) +
                       " belongs in brackets: [v6]:port");
    }
    if (!IsHostCharacter(character)) return Malformed(text::Quoted(text) + " has no valid host");
  }
  if (address.host.size() > kHostBytesMax) {
    return Malformed("a host has at most " + std::to_string(kHostBytesMax) + " bytes");
  }
  return address;
}

}  // namespace

absl::StatusOr<ListenAddress> ParseListenAddress(std::string_view text) {
  if (text.starts_with(kUnixScheme)) return ParseUnix(text);
  const bool tls = text.starts_with(kTlsScheme);
  const bool mutual = text.starts_with(kMutualTlsScheme);
  const std::string_view scheme = tls ? kTlsScheme : mutual ? kMutualTlsScheme : "";
  if (scheme.empty() && text.find("://") != std::string_view::npos) {
    return Malformed(text::Quoted(text) +
                     " begins with an unknown scheme: tls:// and mtls:// are known, and none is "
                     "without TLS");
  }
  absl::StatusOr<ListenAddress> address = ParseTcp(text.substr(scheme.size()));
  if (address.ok() && !scheme.empty()) {
    address->security = tls ? Security::kTls : Security::kMutualTls;
  }
  return address;
}

bool ListenAddress::IsLocal() const {
  if (is_unix() || is_localhost()) return true;
  in_addr v4;
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == IN_LOOPBACKNET;
  in6_addr v6;
  if (inet_pton(AF_INET6, host.c_str(), &v6) == 1) return IN6_IS_ADDR_LOOPBACK(&v6);
  return false;
}

std::string ListenAddress::ToString() const {
  switch (security) {
    case Security::kNone:
      break;
    case Security::kTls:
      return std::string(kTlsScheme) + Place();
    case Security::kMutualTls:
      return std::string(kMutualTlsScheme) + Place();
  }
  return Place();
}

std::string ListenAddress::Place() const {
  if (is_unix()) return std::string(kUnixScheme) + path;
  const bool v6 = host.find(':') != std::string::npos;
  return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

}  // namespace lockkeeper::config
