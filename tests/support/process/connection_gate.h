// SPDX-License-Identifier: Apache-2.0
//
// A proxy between clients and a service on a unix socket, which breaks and delays connections as a
// network would.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <list>
#include <mutex>
#include <string>
#include <thread>

#include "support/process/temporary_directory.h"

namespace lockkeeper::support {

// Errors: throws std::system_error. Thread-safety: thread-safe, but for destroying.
class ConnectionGate {
 public:
  // `target`: path of the service's socket. It need not exist yet: a connection that cannot be
  // forwarded is closed.
  explicit ConnectionGate(std::string target);
  // Cuts all connections.
  ~ConnectionGate();
  ConnectionGate(const ConnectionGate&) = delete;
  ConnectionGate& operator=(const ConnectionGate&) = delete;

  // For clients.
  std::string address() const { return "unix:" + path_; }
  const std::string& path() const { return path_; }

  // The existing connections stay open but forward nothing any more, not even that one side has
  // closed. New ones forward.
  void Hold();
  // The same, but still forwards what clients send.
  void LoseReplies();
  // Closes the existing connections.
  void Cut();
  // The next connection is not passed on: its first call is answered that the connection ends
  // without it, in the words of HTTP/2: GOAWAY, the last stream that was taken is 0.
  void TurnAwayNext() { turning_away_ = true; }
  // From now on forwards everything so much later, in both directions. Zero: at once.
  void Delay(std::chrono::milliseconds delay) { delay_ = delay; }

  // How many were passed on so far.
  size_t connections() const { return passed_on_; }

 private:
  struct Connection {
    int client = -1;
    int service = -1;  // None if it is turned away.
    std::atomic<bool> requests_lost = false;
    std::atomic<bool> replies_lost = false;
    std::atomic<int> passing = 2;  // Threads that have not ended yet.
    std::thread up;
    std::thread down;
  };

  void Accept();
  static void TurnAway(Connection& connection);
  void Pass(Connection& connection, int from, int to, const std::atomic<bool>& lost);
  void WaitForDelay();
  // Forgets those that have ended. Requires: mutex_ is held.
  void Reap();
  static void End(Connection& connection);

  const std::string target_;
  const TemporaryDirectory directory_;
  const std::string path_ = directory_.Path("gate");
  const int listener_;
  std::atomic<std::chrono::milliseconds> delay_{};
  std::atomic<size_t> passed_on_ = 0;
  std::atomic<bool> turning_away_ = false;
  mutable std::mutex mutex_;
  std::condition_variable closed_;
  bool closing_ = false;               // Guarded by mutex_.
  std::list<Connection> connections_;  // Guarded by mutex_.
  std::thread accepting_;
};

}  // namespace lockkeeper::support
