// SPDX-License-Identifier: Apache-2.0
//
// How faults strike a run.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "simulation/world_parts.h"

namespace lockkeeper::simulation {
namespace {

constexpr Micros kRestartMax{20'000};  // A daemon that is ended has a successor.

// Until a daemon that is silent holds up nobody, and a beat.
constexpr Micros kJoinedWithin{4'000'000};

// Between the last message of a daemon and its end.
constexpr Micros kLeaves{2'000};

}  // namespace

void World::Strike(const Fault& fault) {
  if (healed_) return;
  const bool at_stream_or_client =
      fault.kind >= FaultKind::kNetworkSlow && fault.kind < FaultKind::kStoreFlushed &&
      fault.kind != FaultKind::kScriptsForgotten && fault.kind != FaultKind::kNodeRestart &&
      fault.kind != FaultKind::kNodeClockBack;
  const bool at_daemon =
      fault.kind < FaultKind::kNetworkSlow || fault.kind == FaultKind::kConfirmationsDown;
  if (clock_.Now() < losing_until_ && !at_stream_or_client &&
      !(at_daemon && clock_.Now() < moving_until_ && MayStrikeWhileMoving(fault))) {
    return;
  }
  ++faults_;
  watch_.Trace("fault: " + Describe(fault));
  watch_.coverage().Struck(static_cast<int>(fault.kind), clock_.Now());
  const size_t daemon = fault.target % daemons_.size();
  const size_t client = fault.target % clients_.size();
  switch (fault.kind) {
    case FaultKind::kNetworkSlow:
      return rpc_.SlowDown(Micros(800'000), fault.duration);
    case FaultKind::kNetworkLossy:
      return rpc_.Lose(fault.duration);
    case FaultKind::kNetworkDuplicates:
      return rpc_.Duplicate(fault.duration);
    case FaultKind::kClientDeath:
      clients_[client]->Kill();
      former_clients_.push_back(std::move(clients_[client]));
      return StartClient(client);
    case FaultKind::kClientPause: {
      Process& process = clients_[client]->process();
      process.Pause();
      return executor_.Later(fault.duration, [&process] { process.Resume(); });
    }
    case FaultKind::kScriptsForgotten:
    case FaultKind::kNodeRestart:
    case FaultKind::kNodeClockBack:
      return StrikeNode(fault);
    case FaultKind::kStreamBroken:
    case FaultKind::kStreamHalfOpen:
    case FaultKind::kStreamDead:
    case FaultKind::kReaderStill:
      return StrikeStream(fault);
    case FaultKind::kStoreFlushed:
    case FaultKind::kRestartEmpty:
    case FaultKind::kRestartOlder:
    case FaultKind::kRestartUnproved:
    case FaultKind::kNodeClockForward:
    case FaultKind::kNodeClockFarBack:
    case FaultKind::kNodeClockSlewed:
    case FaultKind::kNodeClockNudged:
    case FaultKind::kDataReplaced:
      return StrikeStore(fault);
    case FaultKind::kLogCut:
      return CutLog(fault);
    case FaultKind::kReplicasAway:
      return TakeReplicasAway(fault.duration);
    case FaultKind::kFailover:
    case FaultKind::kFailoverOrdered:
      return FailOver(fault);
    default:
      if (daemons_[daemon]) StrikeDaemon(fault, *daemons_[daemon], daemon);
  }
}

void World::StrikeStream(const Fault& fault) {
  if (session_clients_.empty()) return;
  SessionClient& client = *session_clients_[fault.target % session_clients_.size()];
  switch (fault.kind) {
    case FaultKind::kStreamBroken:
      return client.BreakStream(Blind::kNobody, Micros(0));
    case FaultKind::kStreamHalfOpen:
      return client.BreakStream(Blind::kDaemon, fault.duration);
    case FaultKind::kStreamDead:
      return client.BreakStream(Blind::kClient, fault.duration);
    default:
      return client.StandStill(fault.duration);
  }
}

void World::StrikeNode(const Fault& fault) {
  if (fault.kind == FaultKind::kScriptsForgotten) {
    for (const auto& daemon : daemons_) {
      // Its call fails, and it asks about its waiters again a second later.
      if (daemon && daemon->loads_script())
        judge_.Disturbed(daemon->id(), clock_.Now() + kNoticedWithin);
    }
    return Server().ForgetScripts();
  }
  if (fault.kind == FaultKind::kNodeClockBack) {
    if (!HasWitness(daemons_.size()) || SomebodyIsNew()) return;
    losing_until_ = misleading_until_ = clock_.Now() + kNoticedWithin;
    return SetClock(-fault.duration / 3);
  }
  Server().Restart();
  if (!Server().life().durable) judge_.StoreLost(Forgot::kNothing, clock_.Now());
  RestartNode(fault);
}

void World::TakeReplicasAway(Micros lasts) {
  replicas_.away_until = std::max<Instant>(replicas_.away_until, clock_.Now() + lasts);
  LinesStandStillUntil(replicas_.away_until);
}

// Also those of other daemons: one that confirms nothing hands no lock over. They go on when a
// probe and then a poll have found the replicas again.
void World::LinesStandStillUntil(Instant until) {
  lines_stand_still_until_ = std::max(lines_stand_still_until_, until + kReplicasFoundWithin);
  for (const auto& daemon : daemons_) {
    if (daemon) judge_.Disturbed(daemon->id(), lines_stand_still_until_);
  }
}

// Every connection breaks.
void World::RestartNode(const Fault& fault) {
  ExtendIsolation(fault.duration + kNoticedWithin, true);
  node_away_until_ = std::max<Instant>(node_away_until_, clock_.Now() + fault.duration);
  executor_.Later(fault.duration,
                  [&server = Server()] { server.life().started = server.clock().Now(); });
  for (size_t i = 0; i < daemons_.size(); ++i) {
    if (!daemons_[i]) continue;
    const Instant until = clock_.Now() + fault.duration + kNoticedWithin;
    judge_.Disturbed(daemons_[i]->id(), until);
    in_order_from_[i] = std::max(in_order_from_[i], until);
    daemons_[i]->link().Cut(fault.duration);
  }
}

void World::SetClock(Micros by) {
  watch_.Trace("the node's clock is set by " + std::to_string(by.count()) + " us");
  Server().clock().StepBy(by);
  if (by < Micros(0)) set_back_ -= by;
  judge_.ClockSet(by, clock_.Now());
  ExtendIsolation(kNoticedWithin, false);
  for (const auto& daemon : daemons_) {
    if (daemon) judge_.Disturbed(daemon->id(), clock_.Now() + kNoticedWithin);
  }
}

// Whether a daemon besides that one knows the store as it is now, and will notice what becomes of
// it.
bool World::HasWitness(size_t besides) const {
  for (size_t i = 0; i < daemons_.size(); ++i) {
    if (i != besides && daemons_[i] && clock_.Now() >= in_order_from_[i]) return true;
  }
  return false;
}

bool World::AllAreInOrder() const {
  return std::ranges::all_of(in_order_from_,
                             [now = clock_.Now()](Instant from) { return now >= from; });
}

// Whether this daemon has granted longer leases than ever before, and no other daemon in good order
// has heard of that yet. If it is away while the store loses them, the quarantine is too short.
bool World::IsAloneWithItsLeases(size_t index) const {
  if (index >= daemons_.size() || !daemons_[index]) return false;
  for (size_t i = 0; i < daemons_.size(); ++i) {
    const bool in_order = i != index && daemons_[i] && clock_.Now() >= in_order_from_[i];
    if (in_order && daemons_[i]->longest_lease() >= daemons_[index]->longest_lease()) return false;
  }
  return true;
}

// Whether a daemon that is away, or is about to end, is alone with its leases.
bool World::TakesKnowledgeAlong(size_t absent) const {
  for (size_t i = 0; i < daemons_.size(); ++i) {
    const bool leaves = i == absent || (daemons_[i] && daemons_[i]->is_draining());
    if (leaves && IsAloneWithItsLeases(i)) return true;
  }
  return false;
}

// Older data that have all beats that a daemon knows it cannot tell from what it knew.
bool World::AllKnowMoreThan(const OlderData& older) const {
  for (const auto& daemon : former_daemons_) {
    if (daemon->redis_link().HasUnderWay(older.life.beats)) return false;
  }
  return std::all_of(daemons_.begin(), daemons_.end(), [&older](const auto& daemon) {
    return !daemon || (daemon->KnowsMoreThan(older.life) &&
                       !daemon->redis_link().HasUnderWay(older.life.beats));
  });
}

// Whether a daemon in good order misses something in older data when it connects to a durable node:
// a beat, or a lease that was confirmed to it.
bool World::Misses(size_t index, const OlderData& older) const {
  const auto& daemon = daemons_[index];
  return daemon && clock_.Now() >= in_order_from_[index] &&
         (daemon->KnowsMoreThan(older.life) ||
          daemon->redis_link().lease_confirmed() > older.taken);
}

// Whether a daemon has just started and would take what it finds for right.
bool World::SomebodyIsNew() const {
  return std::any_of(daemons_.begin(), daemons_.end(),
                     [](const auto& daemon) { return daemon && !daemon->knows_store(); });
}

void World::StrikeStore(const Fault& fault) {
  const Instant now = clock_.Now();
  if (fault.kind == FaultKind::kNodeClockSlewed) {
    constexpr int64_t kSlewPpm = 500;
    Server().clock().SetRate(fault.target % 2 == 0 ? kSlewPpm : -kSlewPpm);
    judge_.ClockSlewed();
    return executor_.Later(fault.duration, [&server = Server()] { server.clock().SetRate(0); });
  }
  if (fault.kind == FaultKind::kNodeClockNudged) {
    // What is slow cannot tell.
    if (!AllAreInOrder() || SomebodyIsNew()) return;
    losing_until_ = misleading_until_ = now + kNoticedWithin;
    return SetClock(fault.target % 4 == 0 ? -fault.duration : fault.duration);
  }
  // In half of the cases one daemon hears of it later.
  const size_t absent =
      fault.target % 2 == 0 ? daemons_.size() : fault.target / 2 % daemons_.size();
  if (!HasWitness(absent) || SomebodyIsNew() || TakesKnowledgeAlong(absent)) return;
  if (fault.kind == FaultKind::kDataReplaced && !AllKnowMoreThan(older_[fault.at])) return;
  const bool emptied =
      fault.kind == FaultKind::kStoreFlushed || fault.kind == FaultKind::kRestartEmpty;
  if (absent >= daemons_.size() || !daemons_[absent]) {
    // All of them are there.
  } else if (emptied && fault.target / 16 % 2 == 0) {
    StopDaemon(absent, kRestartMax);  // One that starts meets the empty store.
  } else {
    KeepAway(absent, fault.duration + Micros(500'000));
  }
  losing_until_ = now + kNoticedWithin;
  // The roll is lost too: daemons join anew, and one that is known and dead holds them up.
  if (schedule_.restores && emptied) {
    losing_until_ += kJoinedWithin;
    for (const auto& daemon : daemons_) {
      if (daemon) judge_.Disturbed(daemon->id(), losing_until_ + fault.duration);
    }
  }
  // An empty store tells by itself, and so does another start of its server.
  const bool misleading = !emptied && fault.kind != FaultKind::kRestartUnproved;
  if (misleading) misleading_until_ = losing_until_;
  constexpr Micros kStep{4'000'000};
  constexpr Micros kMinute{60'000'000};
  constexpr Micros kHour{3'600'000'000};
  constexpr std::array<Micros, 3> kSteps = {kStep, kMinute, kHour};
  const Micros step = kSteps[fault.target % kSteps.size()] + fault.duration;
  switch (fault.kind) {
    case FaultKind::kNodeClockForward:
      return SetClock(step);
    case FaultKind::kNodeClockFarBack:
      return SetClock(-step);
    case FaultKind::kStoreFlushed:
      Server().Flush();
      break;
    case FaultKind::kRestartEmpty:
      Server().RestartEmpty();
      break;
    case FaultKind::kRestartOlder:
    case FaultKind::kDataReplaced:
      Server().RestoreSnapshot(older_[fault.at].data);
      if (fault.kind == FaultKind::kRestartOlder) Server().Restart();
      break;
    default:
      Server().Restart();
      break;
  }
  redis_watch_.StoreChanged();
  ExtendIsolation(kNoticedWithin, false);
  const bool all_there = fault.kind == FaultKind::kRestartUnproved;
  judge_.StoreLost(all_there ? Forgot::kNothing : Forgot::kSome, now, Misled());
  if (fault.kind != FaultKind::kStoreFlushed && fault.kind != FaultKind::kDataReplaced) {
    losing_until_ += fault.duration;
    if (misleading) misleading_until_ = losing_until_;
    return RestartNode(fault);
  }
  for (const auto& daemon : daemons_) {
    if (daemon) judge_.Disturbed(daemon->id(), now + kNoticedWithin);
  }
}

// What daemons grant before those that miss something have connected, stays. So these connect
// first.
void World::CutLog(const Fault& fault) {
  if (!HasWitness(daemons_.size()) || SomebodyIsNew()) return;
  const OlderData& older = older_[fault.at];
  std::vector<size_t> others;
  for (size_t i = 0; i < daemons_.size(); ++i) {
    if (schedule_.durable && !Misses(i, older)) others.push_back(i);
  }
  if (others.size() == daemons_.size()) return;
  losing_until_ = misleading_until_ = clock_.Now() + fault.duration + kNoticedWithin;
  Server().RestoreSnapshot(older.data);
  Server().Restart();
  redis_watch_.StoreChanged();
  judge_.StoreLost(Forgot::kSome, clock_.Now(), Misled());
  RestartNode(fault);
  for (const size_t i : others) {
    if (daemons_[i]) KeepAway(i, fault.duration + kNoticedWithin);
  }
}

// It hears later than the others of what becomes of the store.
void World::KeepAway(size_t index, Micros lasts) {
  const Instant until = clock_.Now() + lasts + kNoticedWithin;
  judge_.Disturbed(daemons_[index]->id(), until);
  in_order_from_[index] = std::max(in_order_from_[index], until);
  daemons_[index]->link().Cut(lasts);
}

// How many daemons may take what became of the store for more than it was.
uint64_t World::Misled() const {
  return static_cast<uint64_t>(std::count_if(in_order_from_.begin(), in_order_from_.end(),
                                             [this](Instant from) { return clock_.Now() < from; }));
}

void World::StrikeDaemon(const Fault& fault, Daemon& daemon, size_t index) {
  // A lost reply is noticed late; what is slow may be executed when the fault has long ended; and
  // what stands still goes on at once.
  Micros lasts = fault.duration + Link::kReplyTimeout;
  if (fault.kind == FaultKind::kStoreSlow) lasts += fault.duration;
  if (fault.kind == FaultKind::kDaemonPause) lasts = fault.duration;
  judge_.Disturbed(daemon.id(), clock_.Now() + lasts);
  in_order_from_[index] = std::max<Instant>(in_order_from_[index], clock_.Now() + lasts);
  switch (fault.kind) {
    case FaultKind::kDaemonCrash:
      return StopDaemon(index, fault.duration);
    case FaultKind::kDaemonPause: {
      Process& process = daemon.process();
      process.Pause();
      return executor_.Later(fault.duration, [&process] { process.Resume(); });
    }
    case FaultKind::kDaemonDrain:
      daemon.StartDraining();
      return executor_.Later(fault.duration, [this, index, &daemon] {
        if (daemons_[index].get() != &daemon) return;
        daemon.Leave();
        executor_.Later(kLeaves, [this, index, &daemon] {
          if (daemons_[index].get() == &daemon) StopDaemon(index, Micros(1000));
        });
      });
    default:
      return daemon.link().Strike(fault);
  }
}

}  // namespace lockkeeper::simulation
