// SPDX-License-Identifier: Apache-2.0
//
// One client that does at random what clients do, sensible or not: acquires with and without
// waiting, sends again elsewhere, extends, fences, releases, forgets, comes late. It writes down
// what it asks and what it is answered, and judges nothing.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "histories/calls.h"
#include "histories/journal.h"
#include "support/random.h"

namespace lockkeeper::histories {

struct ActorOptions {
  std::string name;
  std::vector<std::string> daemons;
  int locks = 1;
  // From time to time all actors go on to other names, so that no history of a lock grows long.
  std::chrono::nanoseconds round{};
  int64_t began = 0;  // On support::BootNanos(); the same for all.
  uint64_t seed = 0;
};

// Thread-safety: not thread-safe.
class Actor {
 public:
  Actor(ActorOptions options, Journal& journal);

  // One acquire and all that follows from it.
  void Cycle();

 private:
  struct Lease {
    std::string lock;
    std::string id;
    int attempt = 0;
    std::chrono::milliseconds ttl{};
    int64_t token = 0;  // 0: not granted yet.
    std::string proof;
  };
  enum class Outcome { kOk, kFailed, kUnknown };
  enum class Grant { kYes, kOffered, kNo, kUnknown };

  // Sends the acquire (again).
  Grant Acquire(Lease& lease, std::chrono::milliseconds wait, bool confirm);
  // False: not held (any more), or not known to be.
  bool AcquireWithRetries(Lease& lease);
  Outcome Extend(Lease& lease);
  Outcome Heartbeat(const Lease& lease);
  void Release(const Lease& lease);
  void Fence(const std::string& lock, int64_t token);
  void FenceAnyToken(const std::string& lock);
  // False: it is lost.
  bool Use(Lease& lease);

  // Write down what is asked and what was answered. `answered`: if the call succeeded.
  int Begin(Asked asked);
  template <typename Response>
  Outcome End(int operation, const Answer<Response>& answer, Answered answered);
  void GoElsewhere();
  void Reconnect();
  void Rest(std::chrono::milliseconds longest);
  std::string NewId();

  const ActorOptions options_;
  Journal& journal_;
  support::Random random_;
  std::vector<std::unique_ptr<Calls>> daemons_;
  size_t at_ = 0;
  std::vector<int64_t> tokens_;  // Seen, of `tokens_of_`.
  std::string tokens_of_;
};

}  // namespace lockkeeper::histories
