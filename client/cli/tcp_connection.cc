// SPDX-License-Identifier: Apache-2.0
#include "cli/tcp_connection.h"

#include <netdb.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cerrno>
#include <memory>
#include <utility>

namespace lockkeeper::cli {
namespace {

struct FreeAddresses {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};

}  // namespace

HostPort SplitHostPort(const std::string& target) {
  const size_t colon = target.rfind(':');
  std::string host = target.substr(0, colon);
  if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
  return {std::move(host), target.substr(colon + 1)};
}

os::Descriptor ConnectTo(const HostPort& where, std::chrono::microseconds patience) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(patience);
  const timeval limit{.tv_sec = seconds.count(), .tv_usec = (patience - seconds).count()};
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  errno = 0;
  if (getaddrinfo(where.host.c_str(), where.port.c_str(), &hints, &found) != 0) {
    errno = 0;
    return {};
  }
  const std::unique_ptr<addrinfo, FreeAddresses> list(found);
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    os::Descriptor connection(socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!connection.valid()) continue;
    setsockopt(connection.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    setsockopt(connection.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    if (connect(connection.get(), one->ai_addr, one->ai_addrlen) == 0) return connection;
  }
  return {};
}

}  // namespace lockkeeper::cli
