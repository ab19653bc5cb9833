// SPDX-License-Identifier: Apache-2.0
#include "rpc/open_connections.h"

#include <arpa/inet.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <array>

namespace lockkeeper::rpc {
namespace {

// 0 if the descriptor is not open.
ino_t InodeOf(int fd) {
  struct stat file{};
  return fstat(fd, &file) == 0 ? file.st_ino : 0;
}

}  // namespace

std::string ClientOf(const OpenConnection& connection) {
  sockaddr_in6 address{};
  socklen_t length = sizeof(address);
  if (getpeername(connection.fd, reinterpret_cast<sockaddr*>(&address), &length) != 0) return "";
  std::array<char, INET6_ADDRSTRLEN> text{};
  const std::string port = ":" + std::to_string(ntohs(address.sin6_port));  // As in sockaddr_in.
  if (address.sin6_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
    inet_ntop(AF_INET, &v4.sin_addr, text.data(), text.size());
    return "ipv4:" + std::string(text.data()) + port;
  }
  if (address.sin6_family != AF_INET6) return "";
  if (IN6_IS_ADDR_V4MAPPED(&address.sin6_addr)) {
    inet_ntop(AF_INET, &address.sin6_addr.s6_addr[12], text.data(), text.size());
    return "ipv4:" + std::string(text.data()) + port;
  }
  inet_ntop(AF_INET6, &address.sin6_addr, text.data(), text.size());
  return "ipv6:%5B" + std::string(text.data()) + "%5D" + port;
}

OpenConnection OpenConnections::Look(int fd) {
  OpenConnection connection{.fd = fd, .inode = InodeOf(fd)};
  tcp_info info{};
  socklen_t size = sizeof(info);
  if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0) {
    connection.received = info.tcpi_bytes_received;
    connection.sent = info.tcpi_bytes_sent;
  }
  return connection;
}

void OpenConnections::Add(int fd) { inodes_[fd] = InodeOf(fd); }

std::vector<OpenConnection> OpenConnections::List() {
  std::vector<OpenConnection> open;
  for (auto one = inodes_.begin(); one != inodes_.end();) {
    const OpenConnection now = Look(one->first);
    if (now.inode == one->second) {
      open.push_back(now);
      ++one;
    } else {
      one = inodes_.erase(one);
    }
  }
  return open;
}

bool OpenConnections::Close(const OpenConnection& connection) {
  return InodeOf(connection.fd) == connection.inode && shutdown(connection.fd, SHUT_RDWR) == 0;
}

}  // namespace lockkeeper::rpc
