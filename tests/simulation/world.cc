// SPDX-License-Identifier: Apache-2.0
#include "simulation/world.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <utility>

#include "redis/format/key_layout.h"
#include "simulation/client.h"
#include "simulation/daemon.h"
#include "simulation/fenced_counter.h"
#include "simulation/judge.h"
#include "simulation/line_watch.h"
#include "simulation/message_order.h"
#include "simulation/rpc.h"
#include "simulation/session_client.h"
#include "simulation/stream.h"
#include "support/fake_node/redis_model.h"
#include "support/manual_clock.h"
#include "support/manual_executor.h"

namespace lockkeeper::simulation {
namespace {

constexpr Micros kLastLapMax{40'000'000};
constexpr Micros kStopMax{40'000'000};
// What daemons have to do ends by itself within this, but for calls that wait: a repeated one whose
// client has stopped.
constexpr Micros kEverythingEnded{10'000'000};
// A call that was answered is not answered again after this.
constexpr Micros kAnsweredTwiceWithin{1'000'000};
// Records live for the ttl, the retention and what clocks were set back; lines for a minute.
constexpr Micros kEverythingExpired{110'000'000};
// Within this a daemon in good order notices a loss: its beat, and a look at the marker.
constexpr Micros kNoticedWithin{1'200'000};
constexpr Micros kFirstUseMax{100'000};  // A single daemon has taken the store for new.
constexpr Micros kRestartMax{20'000};    // One that is ended has a successor.
// A daemon knows the store well after this.
constexpr Micros kSettled{2'000'000};

class World {
 public:
  World(const Schedule& schedule, support::LuaScripts& lua, std::ostream* trace)
      : schedule_(schedule),
        random_(schedule.seed ^ 0x5bd1e995),
        executor_(clock_),
        judge_(kRecordRetention),
        server_(lua, clock_),
        order_(schedule, clock_),
        rpc_(clock_, executor_, judge_, order_, random_.Fork()),
        streams_(clock_, rpc_, support::Random(schedule.seed ^ 0x9e3779b9)),
        watch_(server_, clock_, judge_),
        counters_(static_cast<size_t>(schedule.locks)) {
    watch_.TraceTo(trace);
  }

  Outcome Run();

 private:
  struct OlderData {
    support::Keyspace::Snapshot data;
    Life life;
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
  void RestartNode(const Fault& fault);
  bool HasWitness(size_t besides) const;
  bool AllKnowMoreThan(const OlderData& older) const;
  bool SomebodyIsNew() const;
  void StrikeDaemon(const Fault& fault, Daemon& daemon, size_t index);
  void Heal();
  bool AllIdle() const;
  Left WhatIsLeft() const;
  void Check();

  const Schedule& schedule_;
  support::Random random_;
  support::ManualClock clock_;
  support::ManualExecutor executor_;
  Judge judge_;
  support::RedisModel server_;
  MessageOrder order_;
  Rpc rpc_;
  Streams streams_;
  LineWatch watch_;
  std::vector<FencedCounter> counters_;
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
  Micros set_back_{};  // The node's clock, in all.
  uint64_t next_daemon_ = 1;
  uint64_t faults_ = 0;
  bool healed_ = false;
};

void World::StartDaemon(size_t index) {
  if (clock_.Now() < misleading_until_) {
    const auto left = std::chrono::ceil<Micros>(misleading_until_ - clock_.Now());
    return executor_.Later(left, [this, index] { StartDaemon(index); });
  }
  in_order_from_[index] = clock_.Now() + kSettled;
  daemons_[index] = std::make_unique<Daemon>(
      Daemon::World{server_, clock_, executor_, judge_, watch_, schedule_.guarded, &order_},
      next_daemon_++, random_.Fork());
  if (clock_.Now() < losing_until_) {  // If the store is empty it waits for those that know more.
    judge_.Disturbed(daemons_[index]->id(), losing_until_ + kFirstUseWait + kNoticedWithin);
  }
  if (clock_.Now() < node_away_until_) {
    daemons_[index]->link().Cut(std::chrono::ceil<Micros>(node_away_until_ - clock_.Now()));
  }
  rpc_.SetDaemon(index, daemons_[index].get());
}

void World::StopDaemon(size_t index, Micros away) {
  judge_.DaemonGone(daemons_[index]->id(), clock_.Now());
  daemons_[index]->Kill();
  rpc_.SetDaemon(index, nullptr);
  rpc_.FailCallsOf(index);
  streams_.BreakThoseOf(*daemons_[index]);
  former_daemons_.push_back(std::move(daemons_[index]));
  executor_.Later(away, [this, index] { StartDaemon(index); });
}

void World::StartClient(size_t index) {
  const auto number = static_cast<int>(index);
  if (index < session_clients_.size()) {
    auto client = std::make_unique<SessionClient>(
        SessionClient::World{clock_, executor_, rpc_, streams_, judge_, counters_, schedule_},
        number, random_.Fork());
    session_clients_[index] = client.get();
    clients_[index] = std::move(client);
  } else {
    clients_[index] = std::make_unique<Client>(
        Client::World{clock_, executor_, rpc_, judge_, counters_, schedule_}, number,
        random_.Fork());
  }
  clients_[index]->Start();
}

void World::Strike(const Fault& fault) {
  if (healed_) return;
  const bool at_stream_or_client =
      fault.kind >= FaultKind::kNetworkSlow && fault.kind < FaultKind::kStoreFlushed &&
      fault.kind != FaultKind::kScriptsForgotten && fault.kind != FaultKind::kNodeRestart &&
      fault.kind != FaultKind::kNodeClockBack;
  if (clock_.Now() < losing_until_ && !at_stream_or_client) return;
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
  if (fault.kind == FaultKind::kScriptsForgotten) return server_.ForgetScripts();
  if (fault.kind == FaultKind::kNodeClockBack) {
    if (!HasWitness(daemons_.size()) || SomebodyIsNew()) return;
    losing_until_ = misleading_until_ = clock_.Now() + kNoticedWithin;
    return SetClock(-fault.duration / 3);
  }
  server_.Restart();
  if (!schedule_.durable) judge_.StoreLost(Forgot::kNothing, clock_.Now());
  RestartNode(fault);
}

// Every connection breaks.
void World::RestartNode(const Fault& fault) {
  node_away_until_ = std::max<Instant>(node_away_until_, clock_.Now() + fault.duration);
  executor_.Later(fault.duration, [this] { server_.life().started = server_.clock().Now(); });
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
  server_.clock().StepBy(by);
  if (by < Micros(0)) set_back_ -= by;
  judge_.ClockSet(by, clock_.Now());
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

// Older data that have all beats that a daemon knows it cannot tell from what it knew.
bool World::AllKnowMoreThan(const OlderData& older) const {
  for (const auto& daemon : former_daemons_) {
    if (daemon->link().HasUnderWay(older.life.beats)) return false;
  }
  return std::all_of(daemons_.begin(), daemons_.end(), [&older](const auto& daemon) {
    return !daemon || daemon->KnowsMoreThan(older.life);
  });
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
    server_.clock().SetRate(fault.target % 2 == 0 ? kSlewPpm : -kSlewPpm);
    judge_.ClockSlewed();
    return executor_.Later(fault.duration, [this] { server_.clock().SetRate(0); });
  }
  if (fault.kind == FaultKind::kNodeClockNudged) {
    // What is slow cannot tell.
    const bool in_order = std::all_of(in_order_from_.begin(), in_order_from_.end(),
                                      [now](Instant from) { return now >= from; });
    if (!in_order || SomebodyIsNew()) return;
    losing_until_ = misleading_until_ = now + kNoticedWithin;
    return SetClock(fault.target % 4 == 0 ? -fault.duration : fault.duration);
  }
  // In half of the cases one daemon hears of it later.
  const size_t absent =
      fault.target % 2 == 0 ? daemons_.size() : fault.target / 2 % daemons_.size();
  if (!HasWitness(absent) || SomebodyIsNew()) return;
  if (fault.kind == FaultKind::kDataReplaced && !AllKnowMoreThan(older_[fault.at])) return;
  const bool emptied =
      fault.kind == FaultKind::kStoreFlushed || fault.kind == FaultKind::kRestartEmpty;
  if (absent >= daemons_.size() || !daemons_[absent]) {
    // All of them are there.
  } else if (emptied && fault.target / 16 % 2 == 0) {
    StopDaemon(absent, kRestartMax);  // One that starts meets the empty store.
  } else {
    const Micros lasts = fault.duration + Micros(500'000);
    judge_.Disturbed(daemons_[absent]->id(), now + lasts + kNoticedWithin);
    in_order_from_[absent] =
        std::max<Instant>(in_order_from_[absent], now + lasts + kNoticedWithin);
    daemons_[absent]->link().Cut(lasts);
  }
  losing_until_ = now + kNoticedWithin;
  // An empty store tells by itself, and so does another start of its server.
  const bool misleading = !emptied && fault.kind != FaultKind::kRestartUnproved;
  if (misleading) misleading_until_ = losing_until_;
  constexpr Micros kStep{4'000'000};
  constexpr Micros kMinute{60'000'000};
  constexpr Micros kHour{3'600'000'000};
  const std::array<Micros, 3> kSteps = {kStep, kMinute, kHour};
  const Micros step = kSteps[fault.target % kSteps.size()] + fault.duration;
  switch (fault.kind) {
    case FaultKind::kNodeClockForward:
      return SetClock(step);
    case FaultKind::kNodeClockFarBack:
      return SetClock(-step);
    case FaultKind::kStoreFlushed:
      server_.Flush();
      break;
    case FaultKind::kRestartEmpty:
      server_.RestartEmpty();
      break;
    case FaultKind::kRestartOlder:
    case FaultKind::kDataReplaced:
      server_.RestoreSnapshot(older_[fault.at].data);
      if (fault.kind == FaultKind::kRestartOlder) server_.Restart();
      break;
    default:
      server_.Restart();
      break;
  }
  watch_.StoreChanged();
  const bool all_there = fault.kind == FaultKind::kRestartUnproved;
  const auto misled = std::count_if(in_order_from_.begin(), in_order_from_.end(),
                                    [now](Instant from) { return now < from; });
  judge_.StoreLost(all_there ? Forgot::kNothing : Forgot::kSome, now,
                   static_cast<uint64_t>(misled));
  if (fault.kind != FaultKind::kStoreFlushed && fault.kind != FaultKind::kDataReplaced) {
    losing_until_ += fault.duration;
    if (misleading) misleading_until_ = losing_until_;
    return RestartNode(fault);
  }
  for (const auto& daemon : daemons_) {
    if (daemon) judge_.Disturbed(daemon->id(), now + kNoticedWithin);
  }
}

void World::StrikeDaemon(const Fault& fault, Daemon& daemon, size_t index) {
  // A lost reply is noticed late; what is slow may be executed when the fault has long ended; and
  // what stands still goes on at once.
  Micros lasts = fault.duration + StoreLink::kReplyTimeout;
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
        if (daemons_[index].get() == &daemon) StopDaemon(index, Micros(1000));
      });
    default:
      return daemon.link().Strike(fault);
  }
}

void World::Heal() {
  healed_ = true;
  Micros end = schedule_.faults_end;
  for (const Fault& fault : schedule_.faults) end = std::max(end, fault.at + fault.duration);
  executor_.AdvanceBy(end - schedule_.faults_end + Micros(1'000));
}

bool World::AllIdle() const {
  return std::all_of(clients_.begin(), clients_.end(),
                     [](const auto& client) { return client->idle(); });
}

World::Left World::WhatIsLeft() const {
  Left left;
  for (const auto& daemon : daemons_) {
    if (!daemon) {  // Comes back soon.
      ++left.operations;
      continue;
    }
    left.operations += daemon->outstanding();
    left.sessions += daemon->remaining_sessions();
  }
  return left;
}

Outcome World::Run() {
  if (schedule_.scripts_loaded) server_.LoadCompiledScripts();
  server_.life().durable = schedule_.durable;
  if (schedule_.guarded) losing_until_ = clock_.Now() + 2 * kFirstUseMax;
  daemons_.resize(static_cast<size_t>(schedule_.daemons));
  in_order_from_.resize(daemons_.size());
  clients_.resize(static_cast<size_t>(schedule_.clients));
  session_clients_.resize(
      static_cast<size_t>(std::min(schedule_.session_clients, schedule_.clients)));
  for (size_t i = 0; i < daemons_.size(); ++i) {
    // Several that start together wait for each other; that is not what takes the time here.
    if (i == 0 || !schedule_.guarded) {
      StartDaemon(i);
    } else {
      executor_.Later(kFirstUseMax, [this, i] { StartDaemon(i); });
    }
  }
  for (size_t i = 0; i < clients_.size(); ++i) StartClient(i);
  for (const Fault& fault : schedule_.faults) {
    executor_.Later(fault.at, [this, &fault] { Strike(fault); });
    const bool replaced = fault.kind == FaultKind::kDataReplaced;
    if (!replaced && fault.kind != FaultKind::kRestartOlder) continue;
    const Micros age = fault.duration / 2 + (replaced ? kNoticedWithin : Micros(0));
    executor_.Later(fault.at - std::min(fault.at, age), [this, &fault] {
      older_[fault.at] = {server_.TakeSnapshot(), watch_.LifeInStore()};
    });
  }
  executor_.AdvanceBy(schedule_.faults_end);
  Heal();
  for (const auto& client : clients_) client->RunLastLap();
  const bool all_served = executor_.AdvanceUntil(
      [this] {
        return std::all_of(clients_.begin(), clients_.end(),
                           [](const auto& client) { return client->last_laps() > 0; });
      },
      kLastLapMax);
  if (!all_served) judge_.Violation("after everything had healed, a client was not served");
  for (const auto& client : clients_) client->Stop();
  if (!executor_.AdvanceUntil([this] { return AllIdle(); }, kStopMax)) {
    judge_.Violation("a client cannot stop");
  }
  Outcome outcome;
  outcome.virtual_time =
      std::chrono::duration_cast<Micros>(clock_.Now() - support::ManualClock().Now());
  executor_.AdvanceUntil([this] { return WhatIsLeft() == Left() && judge_.UnansweredCalls() == 0; },
                         std::max<Micros>(kEverythingEnded, schedule_.wait_max));
  executor_.AdvanceBy(kAnsweredTwiceWithin);
  Check();
  outcome.violations = judge_.violations();
  outcome.executed = watch_.executed();
  outcome.grants = judge_.grants();
  outcome.faults = faults_;
  outcome.coverage = std::move(watch_.coverage());
  return outcome;
}

void World::Check() {
  for (const FencedCounter& counter : counters_) {
    if (counter.value() != counter.writes()) {
      judge_.Violation("a counter lost " + std::to_string(counter.writes() - counter.value()) +
                       " of " + std::to_string(counter.writes()) + " updates");
    }
  }
  const Left left = WhatIsLeft();
  // Their beats would go on for ever.
  for (const auto& daemon : daemons_) daemon->Kill();
  executor_.AdvanceBy(kEverythingExpired);
  // Tokens that are ahead of the clock keep their records.
  server_.clock().StepBy(set_back_ + watch_.tokens_raised());
  judge_.Remains(watch_.KeysInStore(), left.operations, left.sessions);
}

}  // namespace

Outcome Run(const Schedule& schedule, support::LuaScripts& lua, std::ostream* trace) {
  return World(schedule, lua, trace).Run();
}

}  // namespace lockkeeper::simulation
