// SPDX-License-Identifier: Apache-2.0
//
// Failovers of a scene with Sentinels or with a Cluster, one after another, each by one of four
// ways to lose a primary. Measures how long nothing new is granted, and holds a lease through all
// of them.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
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
  virtual ~Failovers() = default;
  Failovers(const Failovers&) = delete;
  Failovers& operator=(const Failovers&) = delete;

  // Errors: throws std::runtime_error if something does not come back.
  FailoverReport Run(int count);

 protected:
  support::Random& random() { return random_; }

 private:
  // Draws the primary that is lost next.
  virtual void Choose() = 0;
  // All end when another server is the primary, with all servers running.
  virtual void KillPrimary() = 0;
  virtual void StopPrimary() = 0;
  virtual void LoseWrites() = 0;
  virtual void Order() = 0;
  virtual void AwaitInStep() = 0;
  // Whether this lock was with the primary that was lost last.
  virtual bool IsAffected(const std::string& lock) const = 0;

  void FailOver();
  std::chrono::milliseconds AwaitGrant();

  Scene& scene_;
  Journal& journal_;
  support::Random random_;
};

// Of the scene's kind.
std::unique_ptr<Failovers> MakeFailovers(Scene& scene, Journal& journal, uint64_t seed);

}  // namespace lockkeeper::histories
