// SPDX-License-Identifier: Apache-2.0
#include "rpc/open_connections.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

namespace lockkeeper::rpc {
namespace {

// 0 if the descriptor is not open.
ino_t InodeOf(int fd) {
  struct stat file{};
  return fstat(fd, &file) == 0 ? file.st_ino : 0;
}

uint64_t ReceivedBy(int fd) {
  tcp_info info{};
  socklen_t size = sizeof(info);
  return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 ? info.tcpi_bytes_received : 0;
}

}  // namespace

void OpenConnections::Add(int fd) { inodes_[fd] = InodeOf(fd); }

std::vector<OpenConnection> OpenConnections::List() {
  std::vector<OpenConnection> open;
  for (auto one = inodes_.begin(); one != inodes_.end();) {
    if (InodeOf(one->first) == one->second) {
      open.push_back({one->first, one->second, ReceivedBy(one->first)});
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
