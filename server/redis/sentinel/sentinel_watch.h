// SPDX-License-Identifier: Apache-2.0
//
// Asks all Sentinels of a service where its primary is, and moves the node there. They are asked
// once a second, when one of them announces a failover, and when a connection of the node breaks.
// Sentinels that the configuration does not name are learned from the others.
//
// Fails closed: while no majority of the Sentinels answers, nobody knows whether the primary was
// replaced, and the node is moved nowhere. So a daemon that is cut off together with the old
// primary stops using it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/executor.h"
#include "loop/backoff.h"
#include "loop/event_loop.h"
#include "redis/client/redis_node.h"
#include "redis/client/redis_url.h"
#include "redis/client/store_problem.h"
#include "redis/client/tls_context.h"
#include "redis/sentinel/primary_election.h"

namespace lockkeeper::redis {

// Hears what the Sentinels say. Thread-safety: called on the loop's thread; must not block.
class SentinelObserver {
 public:
  virtual ~SentinelObserver() = default;

  // The node moves to this server, "10.0.0.1:6379".
  virtual void OnPrimary(std::string_view address, int64_t config_epoch) = 0;

  // Of so many Sentinels that are known, the answers of so many count now. Each time that one of
  // both has changed.
  virtual void OnHeard(size_t heard, size_t known) = 0;

  // No majority of the Sentinels says any more where the primary is, or has said it yet.
  virtual void OnNoPrimary(const StoreProblem& problem) = 0;
};

struct SentinelOptions {
  std::vector<RedisUrl> sentinels;        // With our credentials there. At least one.
  std::shared_ptr<const TlsContext> tls;  // To the Sentinels; null unless their URLs ask for it.
  std::string service;
  RedisUrl primary;  // How to connect to it, but for its address.
  Majority majority = Majority::kNeeded;
  std::string client_name;  // For CLIENT LIST.
  core::Millis connect_timeout{2'000};
  core::Millis request_timeout{1'000};
  SentinelTimes times;
  loop::BackoffOptions backoff;  // Between tries to connect.
  uint64_t seed = 0;             // Of the jitter.
};

// Thread-safety: loop-thread only. Lifetime: borrows its collaborators; build it and destroy it on
// the loop's thread.
class SentinelWatch {
 public:
  // Begins to connect to the Sentinels. `node` has no address yet.
  SentinelWatch(loop::EventLoop& loop, SentinelOptions options, RedisNode& node,
                SentinelObserver& observer);
  ~SentinelWatch();
  SentinelWatch(const SentinelWatch&) = delete;
  SentinelWatch& operator=(const SentinelWatch&) = delete;

  // That it is connected to, or tries to be: those of the options, and what these tell of.
  size_t known() const { return sentinels_.size(); }

 private:
  class Sentinel;

  void Tick();
  void AskAll();
  void OnAnswers(const std::vector<OtherSentinel>& others);
  void Meet(const OtherSentinel& other);
  void ForgetThoseThatAreGone();
  void Decide();
  void MoveTo(const ServerAddress& primary, int64_t config_epoch);
  void MoveNowhere(const StoreProblem& problem);
  StoreProblem ProblemOf(const Election& election) const;
  bool AllHaveBeenTried() const;

  loop::EventLoop& loop_;
  const SentinelOptions options_;
  RedisNode& node_;
  SentinelObserver& observer_;
  uint64_t next_seed_;
  std::vector<std::unique_ptr<Sentinel>> sentinels_;
  Elections elections_;
  std::optional<ServerAddress> primary_;
  std::optional<StoreProblem> told_;  // Why there is none, as it was told last.
  std::pair<size_t, size_t> heard_;   // As OnHeard() was told last.
  std::unique_ptr<core::Timer> timer_;
};

}  // namespace lockkeeper::redis
