// SPDX-License-Identifier: Apache-2.0
//
// Clients that work while the store forgets: some come and go, some keep their lock. Each has a
// connection and a thread of its own, and ends with its object.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "integration/forget/history.h"
#include "lockkeeper/v1/lock_service.pb.h"
#include "support/random.h"
#include "support/rpc/lock_client.h"

namespace lockkeeper::forget {

// Says to threads that they end.
class Stop {
 public:
  void Set();
  // Whether it was set, within `limit`.
  bool WaitFor(std::chrono::milliseconds limit);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool set_ = false;
};

// Extends `lease` with everything that proves it.
v1::ExtendRequest ProvedExtendOf(const v1::Lease& lease);

// Locks and unlocks locks at random, each time with another lease: released at once, extended
// before, or not released at all.
class Passer {
 public:
  Passer(const std::string& daemon, std::vector<std::string> locks, uint64_t seed,
         History& history);
  ~Passer();

  int grants() const { return grants_; }
  int forgotten() const { return forgotten_; }
  // Answers that no caller should get.
  std::vector<std::string> End();

 private:
  void Run();
  void Hold(const v1::Lease& lease, Time asked, Time answered);
  void NoteUnlessExpected(const std::string& reason, const std::string& text);

  support::LockClient caller_;
  const std::vector<std::string> locks_;
  support::Random random_;
  History& history_;
  Stop stop_;
  std::atomic<int> grants_{0};
  std::atomic<int> forgotten_{0};  // Leases that were left to their ttl.
  std::vector<std::string> surprises_;
  std::thread thread_;
};

// Holds one lock all the time, as our clients do: extends with token and proof, many times in its
// ttl, and gives up when it cannot be sure any more.
class Keeper {
 public:
  Keeper(const std::string& daemon, const std::string& lock, std::chrono::milliseconds ttl,
         History& history);
  ~Keeper();

  // Extends that have succeeded so far.
  int extends() const { return extends_; }
  // Releases. Fails the test if the lock was lost before.
  void End();

 private:
  void Run();

  support::LockClient caller_;
  History& history_;
  v1::Lease lease_;
  Held held_;
  std::string lost_;
  Stop stop_;
  std::atomic<int> extends_{0};
  std::thread thread_;
};

}  // namespace lockkeeper::forget
