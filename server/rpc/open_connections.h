// SPDX-License-Identifier: Apache-2.0
//
// The open connections of clients. gRPC owns their sockets and does not report that it closes one,
// so each is identified by its inode.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace lockkeeper::rpc {

struct OpenConnection {
  int fd = -1;
  ino_t inode = 0;
  uint64_t received = 0;  // Bytes. 0 of a unix socket.
  uint64_t sent = 0;      // The same.
};

// The address of its client, as gRPC writes it: "ipv4:127.0.0.1:40000". Empty of a unix socket.
std::string ClientOf(const OpenConnection& connection);

// Thread-safety: not thread-safe.
class OpenConnections {
 public:
  void Add(int fd);

  // Those that are still open.
  std::vector<OpenConnection> List();

  // What is open under the descriptor `fd`. Inode 0: nothing.
  static OpenConnection Look(int fd);

  // With those that were closed since List().
  size_t size() const { return inodes_.size(); }

  // Shuts the connection down, so that gRPC finds it closed. False if the descriptor belongs to
  // something else by now.
  static bool Close(const OpenConnection& connection);

 private:
  std::unordered_map<int, ino_t> inodes_;  // By descriptor.
};

}  // namespace lockkeeper::rpc
