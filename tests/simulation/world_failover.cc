// SPDX-License-Identifier: Apache-2.0
//
// How a failover strikes a run: a second server takes the place of the primary, and the one before
// may go on for daemons that have not heard of that.
#include <algorithm>
#include <array>
#include <chrono>
#include <string>

#include "simulation/failover.h"
#include "simulation/world_parts.h"

namespace lockkeeper::simulation {
namespace {

// As Redis says it.
constexpr const char* kNoReplicas = "NOREPLICAS Not enough good replicas to write.";
constexpr const char* kReadOnly = "READONLY You can't write against a read only replica.";

}  // namespace

// The quarantine is too short if the longest lease was granted after the replica's data ended; so
// there has been one of that length before. And nobody is new, who would take what it finds for
// right.
void World::FailOver(const Fault& fault) {
  if (!HasWitness(daemons_.size()) || SomebodyIsNew() || TakesKnowledgeAlong(daemons_.size())) {
    return;
  }
  const bool lacks_something = AgeOfData(fault).has_value();
  if (lacks_something && older_[fault.at].of != &Server()) return;
  const Life life = lacks_something ? older_[fault.at].life : redis_watch_.LifeInStore();
  if (life.longest_lease == core::Millis(0)) return;
  Promote(fault);
}

void World::Promote(const Fault& fault) {
  const Failover failover = FailoverOf(fault);
  support::RedisModel& before = Server();
  support::Keyspace::Snapshot data =
      AgeOfData(fault) ? older_[fault.at].data : before.TakeSnapshot();
  support::RedisModel& promoted = NewServer();
  promoted.clock().StepBy(Micros(before.clock().Now().micros - promoted.clock().Now().micros) +
                          failover.clock_ahead);
  promoted.RestoreSnapshot(std::move(data));
  promoted.life().durable = false;
  promoted.life().promoted = true;
  promoted.life().isolation = kIsolation;
  promoted.life().primary_since = promoted.clock().Now();
  if (failover.clock_ahead < Micros(0)) set_back_ -= failover.clock_ahead;
  watch_.Trace("a replica is promoted, whose clock is ahead by " +
               std::to_string(failover.clock_ahead.count()) + " us");

  witness_ = 0;
  while (!daemons_[witness_] || clock_.Now() < in_order_from_[witness_]) ++witness_;
  before_does_not_stop_ = false;
  switch (failover.before) {
    case Failover::Before::kGone:
      for (const auto& daemon : daemons_) {
        if (daemon) daemon->redis_link().MoveNowhere();
      }
      before.RefuseWrites(kReadOnly);  // To those that a Sentinel sends there.
      break;
    case Failover::Before::kReplica:
      before.RefuseWrites(kReadOnly);
      break;
    case Failover::Before::kGoesOn:
      executor_.Later(failover.takes_writes_for, [&before] { before.RefuseWrites(kNoReplicas); });
      break;
    case Failover::Before::kDoesNotStop:
      before_does_not_stop_ = AllAreInOrder();
      if (!before_does_not_stop_) {
        executor_.Later(kWritesAloneMax, [&before] { before.RefuseWrites(kNoReplicas); });
      }
      break;
  }
  redis_watch_.Promoted(promoted);
  TellDaemonsOfFailover(fault);
}

// One that stands still asks no Sentinels. So it goes on with a server that does not stop. And if
// all that knew the store were gone, nobody could notice what the promoted one lacks.
bool World::MayStrikeWhileMoving(const Fault& fault) const {
  const bool ends = fault.kind == FaultKind::kDaemonCrash || fault.kind == FaultKind::kDaemonDrain;
  if (ends && fault.target % daemons_.size() == witness_) return false;
  return fault.kind != FaultKind::kDaemonPause || !before_does_not_stop_;
}

void World::TellDaemonsOfFailover(const Fault& fault) {
  const Instant now = clock_.Now();
  moving_until_ = now + kMovedWithin;
  losing_until_ = misleading_until_ = moving_until_ + kNoticedWithin;
  judge_.Promoted(FailoverOf(fault).clock_ahead, now, now + kIsolation, Misled() + daemons_.size());
  isolated_until_ = losing_until_ + kIsolation;
  judge_.Isolated(isolated_until_);
  support::Random random(schedule_.seed ^ static_cast<uint64_t>(fault.at.count()));
  sentinels_.Promoted(random.Fork());
  std::array<Micros, kSentinels> known_after{};
  for (size_t i = 0; i < kSentinels; ++i) {
    known_after[i] = std::chrono::ceil<Micros>(sentinels_.KnownAt(i) - now);
  }
  for (const auto& daemon : daemons_) {
    const auto cuts = CutsOf(known_after, random.Fork());
    const bool hears = !random.OneIn(3);
    if (!daemon) continue;
    judge_.Disturbed(daemon->id(), losing_until_);
    for (size_t i = 0; i < kSentinels; ++i) {
      sentinels_.CutOff(daemon->number(), i, now + cuts[i].from, now + cuts[i].until);
      if (!hears) continue;
      executor_.Later(known_after[i], [this, i, &daemon = *daemon] {
        if (sentinels_.IsReached(daemon.number(), i)) daemon.HearOfFailover();
      });
    }
  }
  for (Instant& from : in_order_from_) from = std::max(from, losing_until_);
}

// A server that was restarted may be a promoted one, for all that daemons know. Any other loss
// counts only if it follows a failover at once.
void World::ExtendIsolation(Micros noticed_within, bool restarted) {
  const Instant now = clock_.Now();
  if (!has_sentinels_ || (!restarted && now >= isolated_until_)) return;
  isolated_until_ = now + noticed_within + kIsolation;
  judge_.Isolated(isolated_until_);
}

}  // namespace lockkeeper::simulation
