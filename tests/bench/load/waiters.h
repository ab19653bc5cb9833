// SPDX-License-Identifier: Apache-2.0
//
// Acquires that wait, over several connections, and the calls around them.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "bench/load/latencies.h"
#include "lockkeeper/v1/lock_service.grpc.pb.h"

namespace lockkeeper::bench {

// Blocking calls on a connection of their own.
//
// Errors: throws std::runtime_error if a call does not do what it should.
// Thread-safety: not thread-safe.
class Caller {
 public:
  explicit Caller(const std::string& address);

  v1::Lease Acquire(const std::string& name);
  void Release(const v1::Lease& lease);

  // Accepts an offer.
  void Claim(const v1::Lease& lease);

 private:
  std::unique_ptr<v1::LockService::Stub> locks_;
};

// Waits until this many acquires wait at the daemon, as the metrics at `http` tell.
// Errors: throws std::runtime_error if they do not within a minute.
void AwaitWaiters(const std::string& http, size_t count);

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

// Waits without doing anything.
void LetPass(std::chrono::duration<double> time);

}  // namespace lockkeeper::bench
