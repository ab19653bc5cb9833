// SPDX-License-Identifier: Apache-2.0
#include "listen/listener.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>

namespace lockkeeper::listen {
namespace {

constexpr int kBacklog = 1024;

using AddressList = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

absl::Status CannotListen(const config::ListenAddress& address, const std::string& why) {
  return {absl::StatusCode::kUnavailable, "cannot listen on " + address.ToString() + ": " + why};
}

void SetOption(int fd, int level, int name, int value) {
  setsockopt(fd, level, name, &value, sizeof(value));
}

// Ports that the kernel chooses, until one is free at each address of a name.
constexpr size_t kPortsTried = 16;

// A copy of `address` with `port`.
sockaddr_storage WithPort(const addrinfo& address, uint16_t port) {
  sockaddr_storage copy{};
  std::memcpy(&copy, address.ai_addr, address.ai_addrlen);
  // The port stands at the same place in both families.
  static_assert(offsetof(sockaddr_in, sin_port) == offsetof(sockaddr_in6, sin6_port));
  const uint16_t network_order = htons(port);
  std::memcpy(reinterpret_cast<char*>(&copy) + offsetof(sockaddr_in, sin_port), &network_order,
              sizeof(network_order));
  return copy;
}

// A listening socket. If it is invalid, errno says why.
os::Descriptor ListenOn(const addrinfo& address, uint16_t port, bool only_v6) {
  os::Descriptor socket(::socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return socket;
  // Allows a port with lingering connections of an earlier run, but not a port that somebody
  // listens on.
  SetOption(socket.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  if (address.ai_family == AF_INET6) SetOption(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, only_v6);
  const sockaddr_storage bound = WithPort(address, port);
  if (bind(socket.get(), reinterpret_cast<const sockaddr*>(&bound), address.ai_addrlen) != 0 ||
      ::listen(socket.get(), kBacklog) != 0) {
    return os::Descriptor();
  }
  return socket;
}

// The same for a path. Requires: the path is short enough, and nobody listens there.
os::Descriptor ListenOnPath(const std::string& path) {
  os::Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  unlink(path.c_str());
  if (socket.valid() &&
      (bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
       ::listen(socket.get(), kBacklog) != 0)) {
    return os::Descriptor();
  }
  return socket;
}

config::ListenAddress AddressOf(const os::Descriptor& socket) {
  sockaddr_storage bound{};
  socklen_t length = sizeof(bound);
  getsockname(socket.get(), reinterpret_cast<sockaddr*>(&bound), &length);
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  getnameinfo(reinterpret_cast<sockaddr*>(&bound), length, host.data(), host.size(), port.data(),
              port.size(), NI_NUMERICHOST | NI_NUMERICSERV);
  return {.host = host.data(), .port = static_cast<uint16_t>(std::atoi(port.data()))};
}

struct Sockets {
  std::vector<os::Descriptor> sockets;
  int problem = 0;  // An errno; the sockets before it are open.
};

// Listens at all of `addresses` that this machine has, on the same port, which the kernel chooses
// if it is 0.
Sockets ListenOnAll(const addrinfo& addresses, uint16_t port) {
  const bool several = addresses.ai_next != nullptr;
  Sockets opened;
  int missing = 0;
  for (const addrinfo* one = &addresses; one != nullptr; one = one->ai_next) {
    os::Descriptor socket = ListenOn(*one, port, several);
    if (socket.valid()) {
      if (port == 0) port = AddressOf(socket).port;
      opened.sockets.push_back(std::move(socket));
    } else if (errno == EADDRNOTAVAIL || errno == EAFNOSUPPORT) {
      missing = errno;
    } else {
      opened.problem = errno;
      return opened;
    }
  }
  if (opened.sockets.empty()) opened.problem = missing;
  return opened;
}

}  // namespace

absl::StatusOr<Listener> Listen(const config::ListenAddress& address) {
  if (address.is_unix()) {
    Listener listener{.sockets = {}, .address = address};
    listener.sockets.push_back(ListenOnPath(address.path));
    if (!listener.sockets.front().valid()) return CannotListen(address, std::strerror(errno));
    return listener;
  }
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  // Without a host and without AI_PASSIVE getaddrinfo returns the loopback addresses. So localhost
  // does not depend on a resolver, which may not know it or may redirect it.
  hints.ai_flags = address.is_localhost() ? 0 : AI_PASSIVE;
  const char* const host = address.is_localhost() ? nullptr : address.host.c_str();
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(host, "0", &hints, &found); error != 0) {
    return CannotListen(address, gai_strerror(error));
  }
  const AddressList addresses(found, freeaddrinfo);

  // A port that is free at one address may be taken at the other.
  std::vector<Sockets> partial;  // Open, so that the kernel chooses another port the next time.
  for (;;) {
    Sockets opened = ListenOnAll(*found, address.port);
    const bool may_choose = address.port == 0 && opened.problem == EADDRINUSE;
    if (may_choose && !opened.sockets.empty() && partial.size() < kPortsTried) {
      partial.push_back(std::move(opened));
      continue;
    }
    if (opened.problem != 0) return CannotListen(address, std::strerror(opened.problem));
    config::ListenAddress bound = AddressOf(opened.sockets.front());
    return Listener{.sockets = std::move(opened.sockets), .address = std::move(bound)};
  }
}

}  // namespace lockkeeper::listen
