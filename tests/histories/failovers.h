// SPDX-License-Identifier: Apache-2.0
//
// Failovers of a scene with Sentinels, one after another, each by one of four ways to lose a
// primary. Measures how long nothing new is granted, and holds a lease through all of them.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "histories/journal.h"
#include "histories/scene.h"
#include "support/random.h"

namespace lockkeeper::histories {

struct FailoverReport {
  int failovers = 0;
  // From when the Sentinels agreed on another primary, and all servers ran again, until a daemon
  // granted something new.
  std::vector<std::chrono::milliseconds> until_granted;
  // Of a lock that somebody holds all the time: leases that came to their end because no daemon
  // could extend them, and what went wrong besides. Empty: nothing did.
  int leases_ended = 0;
  std::string holder_problem;
};

// Thread-safety: not thread-safe; on the main thread.
class Failovers {
 public:
  Failovers(Scene& scene, Journal& journal, uint64_t seed);

  // Errors: throws std::runtime_error if something does not come back.
  FailoverReport Run(int count);

 private:
  void FailOver();
  // All end when the Sentinels agree on another primary, with all servers running.
  void KillPrimary(size_t primary);
  void StopPrimary(size_t primary);
  void LoseWrites(size_t primary);
  void Order();
  std::chrono::milliseconds AwaitGrant();

  Scene& scene_;
  support::SentinelSet& sentinels_;
  Journal& journal_;
  support::Random random_;
};

}  // namespace lockkeeper::histories
