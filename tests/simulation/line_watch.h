// SPDX-License-Identifier: Apache-2.0
//
// Reports the decisions of the store to the judge: who joins a line, who leaves it, and who gets a
// lock. It reads the script calls of daemons and the records that they leave.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "redis/format/key_layout.h"
#include "redis/format/store_marker.h"
#include "redis/node/reply.h"
#include "redis/scripts.h"
#include "simulation/judge.h"
#include "simulation/store_watch.h"
#include "support/fake_node/redis_model.h"

namespace lockkeeper::simulation {

// What a call must find in the store, or it does nothing.
struct Expected {
  int64_t beats = 0;  // The marker has at least so many.
  core::NodeTime latest;
};
// Nothing if the call does not say.
std::optional<Expected> ExpectedByCall(const std::vector<std::string_view>& words);

// What the reply to a call confirms; the last lease if it is about several. kLease: a lease is
// live, with an end that the call has set. kLeaseAgain: a lease is live, with an end that was known
// before.
enum class Confirmed { kNothing, kLease, kLeaseAgain };
Confirmed ConfirmedBy(const std::vector<std::string_view>& words, const redis::Reply& reply);

// The age of a store: its epoch and its beats.
struct Life {
  int64_t epoch = 0;
  int64_t beats = 0;             // In this epoch.
  core::Millis longest_lease{};  // That was ever asked for.
};

// What daemons ask of locks.
enum class Script { kAcquire, kExtend, kFence, kPoll, kReassert, kRelease, kWithdraw };

struct KnownScript {
  Script script{};
  std::string_view name;
  size_t arguments = 0;  // For each lock,
  size_t replies = 0;    // and numbers in the reply.
};

class LineWatch final : public StoreWatch {
 public:
  LineWatch(support::RedisModel& server, const core::Clock& clock, Judge& judge);

  // `server` takes the place of the one so far. What that one goes on to do is reported as such.
  void Promoted(support::RedisModel& server);

  // A server has executed a command of `daemon`.
  void Executed(const support::RedisModel& server, const std::string& daemon,
                const std::vector<std::string_view>& words, const redis::Reply& reply);

  // The records have changed without a command.
  void StoreChanged();

  // An administrator has asked a daemon to end the quarantine of this epoch.
  void QuarantineIsToEnd(int64_t epoch) { to_be_ended_.insert(epoch); }
  // Daemons restore what they told, and end quarantines when all have.
  void DaemonsRestore() { restores_ = true; }

  int64_t KeysInStore() override;
  // How far losses have raised the tokens ahead of the clock.
  core::Micros tokens_raised() const { return tokens_raised_; }
  // The life of the store by its marker; zeros if there is none.
  Life LifeInStore();

 private:
  struct Operation;

  void OnOperation(Script script, const Operation& operation);
  std::string Who(const std::string& daemon) const;
  void TraceOperation(const std::string& daemon, std::string_view script,
                      const Operation& operation, const KnownScript& known);
  static int32_t AttemptOf(const Operation& operation);
  void OnAcquire(const Operation& operation);
  void OnWithdraw(const Operation& operation);
  void OnReassert(const Operation& operation);
  void OnMarker(const redis::Reply& reply);
  void LookAtFloor(const redis::StoreMarker& marker, int64_t node_now, int64_t floor_before);
  bool StandsInLine(const std::string& lock, const std::string& lease_id);
  std::string RecordOf(const std::string& lock);
  // `attempt`: that got the lock, if that is known. The record may have a later one of the same
  // call.
  void LookAtRecord(const std::string& daemon, const std::string& lock, int64_t node_now,
                    std::optional<int32_t> attempt = std::nullopt);

  // One server, and what is known of it.
  struct Server {
    support::RedisModel& model;
    StoreDeeds* deeds;
    std::unordered_map<std::string, int64_t> tokens;  // Last seen in each record.
    std::string stamp;                                // Of the marker, as last seen.
    int64_t epoch = 0;
    core::NodeTime quarantine_end;  // As the last marker has it,
    int64_t floor = 0;              // and of tokens.
  };

  const redis::KeyLayout keys_{"lk:"};
  std::deque<Server> servers_;  // The newest one last.
  Server* at_;                  // The one that has done something.
  bool restores_ = false;
  std::set<int64_t> to_be_ended_;  // Epochs; a daemon that stands still is asked for an older one.
  core::Micros tokens_raised_{};
};

}  // namespace lockkeeper::simulation
