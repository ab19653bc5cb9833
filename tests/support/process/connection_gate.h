// SPDX-License-Identifier: Apache-2.0
//
// Stands between clients and a service on a unix socket: what a network, or a proxy, does to
// connections.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <list>
#include <mutex>
#include <string>
#include <thread>

#include "support/process/temporary_directory.h"

namespace lockkeeper::support {

// Errors: throws std::system_error. Thread-safety: thread-safe, but for destroying.
class ConnectionGate {
 public:
  // `target`: path of the service's socket. It need not exist yet: who cannot be passed on is
  // hung up on.
  explicit ConnectionGate(std::string target);
  // Cuts all.
  ~ConnectionGate();
  ConnectionGate(const ConnectionGate&) = delete;
  ConnectionGate& operator=(const ConnectionGate&) = delete;

  // For clients.
  std::string address() const { return "unix:" + path_; }

  // The connections that exist stay open and pass nothing on any more. New ones do.
  void Hold();
  // Ends the connections that exist.
  void Cut();

  // How many were passed on so far.
  size_t connections() const;

 private:
  struct Connection {
    int client = -1;
    int service = -1;
    std::atomic<bool> held = false;
    std::thread up;
    std::thread down;
  };

  void Accept();
  static void Pass(Connection& connection, int from, int to);

  const std::string target_;
  const TemporaryDirectory directory_;
  const std::string path_ = directory_.Path("gate");
  const int listener_;
  mutable std::mutex mutex_;
  std::list<Connection> connections_;  // Guarded by mutex_. None goes before the end.
  std::thread accepting_;
};

}  // namespace lockkeeper::support
