// SPDX-License-Identifier: Apache-2.0
//
// Failovers of a scene with Sentinels or with a Cluster, one after another, each by one of four
// ways to lose a primary. Measures how long nothing is written and nothing new is granted, holds a
// lease through all of them, and counts the leases that are lost. Says where that breaks what the
// service promises.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "histories/holder.h"
#include "histories/journal.h"
#include "histories/scene.h"
#include "histories/told_leases.h"
#include "support/process/redis_server.h"
#include "support/random.h"

namespace lockkeeper::histories {

// All times are since the fault.
struct Failover {
  std::string fault;
  // Until the next primary took a write, with all servers running, and until as many replicas as
  // the daemons ask for had confirmed one.
  std::chrono::milliseconds until_written{};
  std::chrono::milliseconds until_confirmed{};
  // Until each daemon had granted new locks of all parts of the store that were lost, and how long
  // that may take.
  std::chrono::milliseconds until_granted{};
  std::chrono::milliseconds bound{};
  // Until whoever holds a lock by extends was answered again, and whether by an extend: otherwise
  // its lease has ended.
  std::chrono::milliseconds until_held{};
  bool kept = true;
  // The store has failed over once more meanwhile, by itself: a server on a busy machine stood
  // still for too long. Then the times say nothing.
  bool again = false;
  // Leases that a client was told of, since the failover before, in the parts of the store that
  // were lost, and how many of these the next primary has not got.
  size_t told = 0;
  size_t lost = 0;
};

struct FailoverReport {
  std::vector<Failover> failovers;
  // What must not be. Empty: all went well.
  std::vector<std::string> problems;
};

// Thread-safety: not thread-safe; on the main thread.
class Failovers {
 public:
  // `confirming`: how many replicas confirm each lease before a client is told of it.
  Failovers(Scene& scene, Journal& journal, size_t confirming, uint64_t seed);
  virtual ~Failovers() = default;
  Failovers(const Failovers&) = delete;
  Failovers& operator=(const Failovers&) = delete;

  // `on_each` hears of each failover when it is over. Errors: throws std::runtime_error if
  // something does not come back.
  FailoverReport Run(int count, const std::function<void(const Failover&)>& on_each);

 protected:
  support::Random& random() { return random_; }
  // Waits until the primary has granted what a replica that stands still will not have. The fault
  // begins after that.
  void AwaitWritesToLose();

 private:
  struct Way;

  // How many replicas a primary has.
  virtual size_t Replicas() const = 0;
  // A quarantine lasts so much longer than the longest lease.
  virtual std::chrono::milliseconds Isolation() const = 0;
  // Draws the primary that is lost next.
  virtual void Choose() = 0;
  // All end when another server is the primary, with all servers running.
  virtual void KillPrimary() = 0;
  virtual void StopPrimary() = 0;
  virtual void LoseWrites() = 0;
  virtual void Order() = 0;
  virtual void AwaitInStep() = 0;
  // That took the place of the one that was lost last.
  virtual support::RedisServer& NextPrimary() = 0;
  // Rises with each failover.
  virtual int64_t Epoch() const = 0;
  // Of a lock's record.
  virtual std::string KeyOf(const std::string& lock) const = 0;
  // Whether this lock was with the primary that was lost last.
  virtual bool IsAffected(const std::string& lock) const = 0;
  // Names of new locks: one for each part of the store that was lost last.
  virtual std::vector<std::string> AffectedLocks(const std::string& prefix) const = 0;

  Failover FailOver(const Way& way);
  // Until the next primary takes a write, which so many replicas confirm.
  void AwaitWrite(size_t replicas);
  void AwaitGrants(const std::string& prefix);
  void CountLost(Failover& failover);
  void Judge(const Way& way, const Failover& failover);

  Scene& scene_;
  Journal& journal_;
  const size_t confirming_;
  support::Random random_;
  FailoverReport report_;
  std::chrono::steady_clock::time_point struck_;
  Holder holder_;
  ToldLeases told_;
};

// Of the scene's kind.
std::unique_ptr<Failovers> MakeFailovers(Scene& scene, Journal& journal, size_t confirming,
                                         uint64_t seed);

}  // namespace lockkeeper::histories
