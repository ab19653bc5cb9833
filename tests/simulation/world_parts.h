// SPDX-License-Identifier: Apache-2.0
//
// The parts of a run, for its own files only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <ostream>
#include <vector>

#include "simulation/any_client.h"
#include "simulation/daemon.h"
#include "simulation/failover.h"
#include "simulation/fenced_counter.h"
#include "simulation/judge.h"
#include "simulation/line_watch.h"
#include "simulation/memory_watch.h"
#include "simulation/message_order.h"
#include "simulation/rpc.h"
#include "simulation/sentinels.h"
#include "simulation/session_client.h"
#include "simulation/stream.h"
#include "simulation/world.h"
#include "support/fake_node/redis_model.h"
#include "support/manual_clock.h"
#include "support/manual_executor.h"

namespace lockkeeper::simulation {

class World {
 public:
  World(const Schedule& schedule, support::LuaScripts& lua, std::ostream* trace)
      : schedule_(schedule),
        random_(schedule.seed ^ 0x5bd1e995),
        executor_(clock_),
        judge_(kRecordRetention),
        lua_(lua),
        order_(schedule, clock_),
        rpc_(clock_, executor_, judge_, order_, random_.Fork()),
        streams_(clock_, rpc_, support::Random(schedule.seed ^ 0x9e3779b9)),
        redis_watch_(NewServer(), clock_, judge_),
        memory_watch_(clock_, judge_, kRecordRetention),
        watch_(schedule.in_memory ? static_cast<StoreWatch&>(memory_watch_) : redis_watch_),
        counters_(static_cast<size_t>(schedule.locks)),
        replicas_{.must_confirm = schedule.replicas_confirm,
                  .away_until = {},
                  .on_missed = [this] { LinesStandStillUntil(clock_.Now()); }},
        sentinels_(clock_),
        has_sentinels_(HasFailover(schedule)) {
    watch_.TraceTo(trace);
  }

  Outcome Run();

 private:
  struct OlderData {
    const support::RedisModel* of = nullptr;  // The server that had them.
    support::Keyspace::Snapshot data;
    Life life;
    Instant taken;
  };

  // In daemons.
  struct Left {
    size_t operations = 0;
    size_t sessions = 0;
    bool operator==(const Left&) const = default;
  };

  void StartDaemon(size_t index);
  void StopDaemon(size_t index, Micros away);
  void StartClient(size_t index);
  void Strike(const Fault& fault);
  void StrikeStream(const Fault& fault);
  void StrikeNode(const Fault& fault);
  void StrikeStore(const Fault& fault);
  void SetClock(Micros by);
  void CutLog(const Fault& fault);
  void RestartNode(const Fault& fault);
  void FailOver(const Fault& fault);
  void Promote(const Fault& fault);
  void TellDaemonsOfFailover(const Fault& fault);
  void ExtendIsolation(Micros noticed_within, bool restarted);
  bool MayStrikeWhileMoving(const Fault& fault) const;
  support::RedisModel& NewServer();
  // The newest one.
  support::RedisModel& Server() { return *servers_.back(); }
  void TakeReplicasAway(Micros lasts);
  void LinesStandStillUntil(Instant until);
  void KeepAway(size_t index, Micros lasts);
  uint64_t Misled() const;
  bool HasWitness(size_t besides) const;
  bool AllAreInOrder() const;
  bool IsAloneWithItsLeases(size_t index) const;
  bool TakesKnowledgeAlong(size_t absent) const;
  bool AllKnowMoreThan(const OlderData& older) const;
  bool Misses(size_t index, const OlderData& older) const;
  bool SomebodyIsNew() const;
  void StrikeDaemon(const Fault& fault, Daemon& daemon, size_t index);
  void LookAtQuarantine();
  void Heal();
  bool AllIdle() const;
  Left WhatIsLeft() const;
  void Check();

  const Schedule& schedule_;
  support::Random random_;
  support::ManualClock clock_;
  support::ManualExecutor executor_;
  Judge judge_;
  support::LuaScripts& lua_;
  std::vector<std::unique_ptr<support::RedisModel>> servers_;  // The newest one last.
  MessageOrder order_;
  Rpc rpc_;
  Streams streams_;
  LineWatch redis_watch_;
  MemoryWatch memory_watch_;
  StoreWatch& watch_;  // Of the two the one whose store daemons use.
  std::vector<FencedCounter> counters_;
  Replicas replicas_;
  Sentinels sentinels_;
  Instant lines_stand_still_until_;
  std::vector<std::unique_ptr<Daemon>> daemons_;
  std::vector<std::unique_ptr<AnyClient>> clients_;
  std::vector<SessionClient*> session_clients_;
  std::vector<std::unique_ptr<Daemon>> former_daemons_;
  std::vector<std::unique_ptr<AnyClient>> former_clients_;
  std::vector<Instant> in_order_from_;  // Each daemon, as far as its own faults go.
  std::map<Micros, OlderData> older_;   // By the time of their fault.
  Instant losing_until_;                // Something was lost, and not everybody knows.
  Instant misleading_until_;  // And a daemon that starts would take what it finds for right.
  Instant node_away_until_;
  Instant moving_until_;    // Daemons may still use a server that was replaced.
  Instant isolated_until_;  // The same, for all that they know.
  Micros set_back_{};       // The node's clock, in all.
  uint64_t next_daemon_ = 1;
  uint64_t faults_ = 0;
  size_t asked_to_end_ = 0;  // Daemons, to end a quarantine.
  bool has_sentinels_ = false;
  size_t witness_ = 0;  // A daemon that lives until all have noticed the newest failover.
  bool before_does_not_stop_ = false;  // The server that was replaced last.
  bool healed_ = false;
};

}  // namespace lockkeeper::simulation
