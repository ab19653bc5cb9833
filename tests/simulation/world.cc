// SPDX-License-Identifier: Apache-2.0
#include "simulation/world.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "simulation/client.h"
#include "simulation/world_parts.h"

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
constexpr Micros kFirstUseMax{100'000};  // A single daemon has taken the store for new.
constexpr Micros kOperatorLooks{50'000};
// A daemon knows the store well after this.
constexpr Micros kSettled{2'000'000};

}  // namespace

void World::StartDaemon(size_t index) {
  if (clock_.Now() < misleading_until_) {
    const auto left = std::chrono::ceil<Micros>(misleading_until_ - clock_.Now());
    return executor_.Later(left, [this, index] { StartDaemon(index); });
  }
  in_order_from_[index] = clock_.Now() + kSettled;
  daemons_[index] = std::make_unique<Daemon>(
      Daemon::World{Server(), clock_, executor_, judge_, redis_watch_, schedule_.guarded,
                    schedule_.restores, replicas_, &order_, has_sentinels_ ? &sentinels_ : nullptr,
                    &servers_, schedule_.in_memory ? &memory_watch_ : nullptr},
      next_daemon_++, random_.Fork());
  if (clock_.Now() < losing_until_) {  // If the store is empty it waits for those that know more.
    judge_.Disturbed(daemons_[index]->id(), losing_until_ + kFirstUseWait + kNoticedWithin);
  }
  judge_.Disturbed(daemons_[index]->id(), lines_stand_still_until_);
  // It begins when another one has heard of it, or all others have been silent for long.
  if (schedule_.restores) {
    const bool is_heard = HasWitness(index);
    judge_.Disturbed(daemons_[index]->id(),
                     is_heard ? in_order_from_[index] + kSettled
                              : clock_.Now() + redis::SilentAfter(kIsolation) + kSettled);
  }
  if (clock_.Now() < node_away_until_) {
    daemons_[index]->link().Cut(std::chrono::ceil<Micros>(node_away_until_ - clock_.Now()));
  }
  rpc_.SetDaemon(index, daemons_[index].get());
}

support::RedisModel& World::NewServer() {
  const auto digit = static_cast<char>('0' + servers_.size());
  servers_.push_back(std::make_unique<support::RedisModel>(lua_, clock_, digit));
  if (schedule_.scripts_loaded) Server().LoadCompiledScripts();
  return Server();
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

// As an operator does who knows what clients do, at one daemon after the other.
void World::LookAtQuarantine() {
  executor_.Later(kOperatorLooks, [this] { LookAtQuarantine(); });
  if (clock_.Now() < moving_until_ || !judge_.QuarantineIsNeedless(clock_.Now())) return;
  Daemon* const daemon = daemons_[asked_to_end_++ % daemons_.size()].get();
  if (daemon == nullptr || !daemon->knows_store()) return;
  watch_.Trace("an operator ends the quarantine of epoch " + std::to_string(daemon->epoch()));
  redis_watch_.QuarantineIsToEnd(daemon->epoch());
  daemon->EndQuarantine(daemon->epoch());
}

void World::Heal() {
  healed_ = true;
  Micros end = schedule_.faults_end;
  for (const Fault& fault : schedule_.faults) {
    end = std::max(end, fault.at + fault.duration);
    if (IsFailover(fault.kind)) end = std::max<Micros>(end, fault.at + kMovedWithin);
  }
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
  Server().life().durable = schedule_.durable;
  if (has_sentinels_) Server().life().isolation = kIsolation;
  if (schedule_.restores) redis_watch_.DaemonsRestore();
  if (schedule_.replicas_confirm) judge_.SetMinAssurance(core::Assurance::kReplicas);
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
    const std::optional<Micros> age = AgeOfData(fault);
    if (!age) continue;
    executor_.Later(fault.at - std::min(fault.at, *age), [this, &fault] {
      older_[fault.at] = {&Server(), Server().TakeSnapshot(), redis_watch_.LifeInStore(),
                          clock_.Now()};
    });
  }
  if (schedule_.guarded && schedule_.ends_quarantines) LookAtQuarantine();
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
  const auto nothing_left = [this] {
    return WhatIsLeft() == Left() && judge_.UnansweredCalls() == 0;
  };
  const Micros ended_within = std::max<Micros>(kEverythingEnded, schedule_.wait_max);
  executor_.AdvanceUntil(nothing_left, ended_within);
  executor_.AdvanceBy(kAnsweredTwiceWithin);
  executor_.AdvanceUntil(nothing_left, ended_within);  // What a late message has begun meanwhile.
  Check();
  outcome.violations = judge_.violations();
  outcome.executed = watch_.executed();
  outcome.grants = judge_.grants();
  outcome.faults = faults_;
  outcome.failovers = servers_.size() - 1;
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
  Server().clock().StepBy(set_back_ + redis_watch_.tokens_raised());
  judge_.Remains(watch_.KeysInStore(), left.operations, left.sessions);
}

Outcome Run(const Schedule& schedule, support::LuaScripts& lua, std::ostream* trace) {
  return World(schedule, lua, trace).Run();
}

}  // namespace lockkeeper::simulation
