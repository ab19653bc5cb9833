// SPDX-License-Identifier: Apache-2.0
#include "simulation/world.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "redis/key_layout.h"
#include "simulation/client.h"
#include "simulation/daemon.h"
#include "simulation/fenced_counter.h"
#include "simulation/judge.h"
#include "simulation/line_watch.h"
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
// Longer than a daemon remembers that it told of an offer.
constexpr Micros kMessageDelayMax{7'000'000};
// Records live for the ttl, the retention and what clocks were set back; lines for a minute.
constexpr Micros kEverythingExpired{120'000'000};

class World {
 public:
  World(const Schedule& schedule, support::LuaScripts& lua, std::ostream* trace)
      : schedule_(schedule),
        random_(schedule.seed ^ 0x5bd1e995),
        executor_(clock_),
        judge_(kRecordRetention),
        server_(lua, clock_),
        rpc_(clock_, executor_, judge_, random_.Fork()),
        streams_(clock_, rpc_, support::Random(schedule.seed ^ 0x9e3779b9)),
        later_(executor_),
        watch_(server_, clock_, judge_),
        counters_(static_cast<size_t>(schedule.locks)) {
    watch_.TraceTo(trace);
  }

  Outcome Run();

 private:
  void StartDaemon(size_t index);
  void StopDaemon(size_t index, Micros away);
  void StartClient(size_t index);
  void Strike(const Fault& fault);
  void StrikeStream(const Fault& fault);
  void StrikeNode(const Fault& fault);
  void StrikeDaemon(const Fault& fault, Daemon& daemon, size_t index);
  void Heal();
  bool AllIdle() const;
  void Check();

  const Schedule& schedule_;
  support::Random random_;
  support::ManualClock clock_;
  support::ManualExecutor executor_;
  Judge judge_;
  support::RedisModel server_;
  Rpc rpc_;
  Streams streams_;
  Later later_;
  LineWatch watch_;
  std::vector<FencedCounter> counters_;
  std::vector<std::unique_ptr<Daemon>> daemons_;
  std::vector<std::unique_ptr<AnyClient>> clients_;
  std::vector<SessionClient*> session_clients_;
  std::vector<std::unique_ptr<Daemon>> former_daemons_;
  std::vector<std::unique_ptr<AnyClient>> former_clients_;
  uint64_t next_daemon_ = 1;
  uint64_t faults_ = 0;
  bool healed_ = false;
};

void World::StartDaemon(size_t index) {
  daemons_[index] = std::make_unique<Daemon>(
      Daemon::World{server_, clock_, executor_, judge_, watch_}, next_daemon_++, random_.Fork());
  rpc_.SetDaemon(index, daemons_[index].get());
}

void World::StopDaemon(size_t index, Micros away) {
  judge_.DaemonGone(daemons_[index]->id(), clock_.Now());
  daemons_[index]->Kill();
  rpc_.SetDaemon(index, nullptr);
  rpc_.FailCallsOf(index);
  streams_.BreakThoseOf(*daemons_[index]);
  former_daemons_.push_back(std::move(daemons_[index]));
  later_.In(away, [this, index] { StartDaemon(index); });
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
  ++faults_;
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
      return later_.In(fault.duration, [&process] { process.Resume(); });
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
  if (fault.kind == FaultKind::kNodeClockBack) {
    const Micros step = fault.duration / 3;
    server_.clock().StepBy(-step);
    return judge_.ClockSetBack(step, clock_.Now());
  }
  server_.ForgetScripts();
  if (fault.kind == FaultKind::kScriptsForgotten) return;
  for (const auto& daemon : daemons_) {
    if (!daemon) continue;
    judge_.Disturbed(daemon->id(), clock_.Now() + fault.duration);
    daemon->link().Cut(fault.duration);
  }
}

void World::StrikeDaemon(const Fault& fault, Daemon& daemon, size_t index) {
  // A lost reply is noticed late; what is slow may be executed when the fault has long ended; and
  // what stands still goes on at once.
  Micros lasts = fault.duration + StoreLink::kReplyTimeout;
  if (fault.kind == FaultKind::kStoreSlow) lasts += fault.duration;
  if (fault.kind == FaultKind::kDaemonPause) lasts = fault.duration;
  judge_.Disturbed(daemon.id(), clock_.Now() + lasts);
  switch (fault.kind) {
    case FaultKind::kDaemonCrash:
      return StopDaemon(index, fault.duration);
    case FaultKind::kDaemonPause: {
      Process& process = daemon.process();
      process.Pause();
      return later_.In(fault.duration, [&process] { process.Resume(); });
    }
    case FaultKind::kDaemonDrain:
      daemon.StartDraining();
      return later_.In(fault.duration, [this, index, &daemon] {
        if (daemons_[index].get() == &daemon) StopDaemon(index, Micros(1000));
      });
    case FaultKind::kStoreCut:
      return daemon.link().Cut(fault.duration);
    case FaultKind::kStoreSlow:
      return daemon.link().SlowDown(fault.duration, fault.duration);
    case FaultKind::kStoreReplyLost:
      return daemon.link().LoseReplies(fault.duration);
    case FaultKind::kMessagesLost:
      return daemon.link().LoseMessages(fault.duration);
    case FaultKind::kMessagesLate:
      return daemon.link().DelayMessages(kMessageDelayMax, fault.duration);
    case FaultKind::kSubscriptionDown:
      return daemon.link().DropSubscription(fault.duration);
    default:
      return;
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

Outcome World::Run() {
  if (schedule_.scripts_loaded) server_.LoadCompiledScripts();
  daemons_.resize(static_cast<size_t>(schedule_.daemons));
  clients_.resize(static_cast<size_t>(schedule_.clients));
  session_clients_.resize(
      static_cast<size_t>(std::min(schedule_.session_clients, schedule_.clients)));
  for (size_t i = 0; i < daemons_.size(); ++i) StartDaemon(i);
  for (size_t i = 0; i < clients_.size(); ++i) StartClient(i);
  for (const Fault& fault : schedule_.faults) {
    later_.In(fault.at, [this, &fault] { Strike(fault); });
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
  executor_.AdvanceBy(kEverythingExpired);
  Check();
  outcome.violations = judge_.violations();
  outcome.executed = watch_.executed();
  outcome.grants = judge_.grants();
  outcome.faults = faults_;
  return outcome;
}

void World::Check() {
  for (const FencedCounter& counter : counters_) {
    if (counter.value() != counter.writes()) {
      judge_.Violation("a counter lost " + std::to_string(counter.writes() - counter.value()) +
                       " of " + std::to_string(counter.writes()) + " updates");
    }
  }
  size_t outstanding = 0;
  size_t sessions = 0;
  for (const auto& daemon : daemons_) {
    outstanding += daemon->outstanding();
    sessions += daemon->remaining_sessions();
  }
  judge_.Remains(watch_.KeysInStore(), outstanding, sessions);
}

}  // namespace

Outcome Run(const Schedule& schedule, support::LuaScripts& lua, std::ostream* trace) {
  return World(schedule, lua, trace).Run();
}

}  // namespace lockkeeper::simulation
