// SPDX-License-Identifier: Apache-2.0
#include "support/process/notify_socket.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <system_error>

namespace lockkeeper::support {
namespace {

[[noreturn]] void Fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

}  // namespace

NotifySocket::NotifySocket(Kind kind)
    // The name of the directory makes an abstract name unique, too.
    : address_(kind == Kind::kPath ? directory_.Path("notify") : "@" + directory_.Path("notify")),
      socket_(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
  if (!socket_.valid()) Fail("socket");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  address_.copy(address.sun_path, sizeof(address.sun_path) - 1);
  if (kind == Kind::kAbstract) address.sun_path[0] = '\0';
  const size_t size = offsetof(sockaddr_un, sun_path) + address_.size();
  if (bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address),
           static_cast<socklen_t>(size)) != 0) {
    Fail("bind");
  }
}

std::optional<std::string> NotifySocket::Next(std::chrono::milliseconds limit) {
  pollfd descriptor{socket_.get(), POLLIN, 0};
  const int ready = poll(&descriptor, 1, static_cast<int>(limit.count()));
  if (ready < 0) Fail("poll");
  if (ready == 0) return std::nullopt;
  std::string message(4096, '\0');
  const ssize_t size = recv(socket_.get(), message.data(), message.size(), 0);
  if (size < 0) Fail("recv");
  message.resize(static_cast<size_t>(size));
  return message;
}

}  // namespace lockkeeper::support
