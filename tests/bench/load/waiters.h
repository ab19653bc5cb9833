// SPDX-License-Identifier: Apache-2.0
//
// Acquires of unary calls that wait behind held locks.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "bench/load/load.h"
#include "lockkeeper/v1/lock_service.grpc.pb.h"

namespace lockkeeper::bench {

// For 10 minutes, which the daemon has to allow: nothing is extended here.
v1::AcquireRequest LongAcquireOf(const std::string& name);

// Who claims the lock when it is a waiter's turn.
enum class Claims { kDaemon, kWe };

// A waiter's turn has come.
struct Granted {
  v1::Lease lease;
  SteadyClock::time_point at;
};

// Thread-safety: not thread-safe.
class Waiters {
 public:
  Waiters(const std::string& address, size_t connections);
  ~Waiters();
  Waiters(const Waiters&) = delete;
  Waiters& operator=(const Waiters&) = delete;

  void Start(const std::string& name, Claims claims);

  // Waits for the next waiter whose turn has come. Errors: throws std::runtime_error if one was
  // answered something else, or nobody's turn comes.
  Granted Next();

  // All that still wait give up; returns when their calls are over.
  void Leave();

 private:
  struct Call;

  void OnAnswer(Call& call, const grpc::Status& status);

  std::vector<std::unique_ptr<v1::LockService::Stub>> stubs_;
  std::deque<Call> calls_;

  std::mutex mutex_;  // Guards the rest.
  std::condition_variable changed_;
  std::deque<Granted> granted_;
  std::string problem_;
  size_t over_ = 0;
  bool leaving_ = false;
};

}  // namespace lockkeeper::bench
