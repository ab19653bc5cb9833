// SPDX-License-Identifier: Apache-2.0
#include "simulation/client.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "simulation/acquire_answer.h"
#include "simulation/wish.h"

namespace lockkeeper::simulation {

using core::Instant;
using core::Lease;
using core::Micros;
using core::Millis;

namespace {

constexpr Micros kCallTimeout{1'000'000};
constexpr int kTriesMax = 12;
// An offer runs for a second.
constexpr Micros kClaimedLateMax{4'000'000};
// How long a client clings to a lease that is over.
constexpr Micros kClingingMax{6'000'000};

// The part of a lease that a client does not trust: 1 % and 50 ms.
Micros Trusted(Micros remaining) { return remaining - remaining / 100 - Micros(50'000); }

}  // namespace

// One acquire and all that comes of it.
struct Client::Round : Wish {
  Instant give_up;  // Of acquiring.
  int64_t token = 0;
  std::string reassertion;  // The newest.
  Instant proved_until;     // By that, at least.
  Instant believed_end;     // Of the lease, by this client's clock.
  bool believing = false;
  bool releasing = false;
  bool over = false;
  bool careless = false;
  std::optional<int64_t> read;
  size_t daemon = 0;
  CallPtr acquire_call;
};

Client::Client(const World& world, int index, support::Random random)
    : world_(world),
      index_(index),
      random_(random),
      impatience_(~world.schedule.seed + static_cast<uint64_t>(index)),
      process_(world.executor),
      daemon_(static_cast<int>(random_.Below(world.schedule.entrances))) {}

void Client::Start() {
  process_.Later(Micros(random_.Between(0, world_.schedule.think_max.count())), [this] { Next(); });
}

void Client::RunLastLap() {
  last_lap_ = true;
  stopping_ = false;
  if (!busy_) Next();
}

void Client::Kill() {
  if (round_ && round_->believing) {
    world_.judge.BeliefEnded(round_->request.name, index_, round_->token);
  }
  if (round_ && round_->acquire_call) world_.rpc.Cancel(round_->daemon, round_->acquire_call);
  process_.Kill();
}

void Client::Next() {
  if (stopping_ || busy_) return;
  if (last_lap_ && last_laps_ > 0) return;
  busy_ = true;
  auto round = std::make_shared<Round>();
  round_ = round;
  const Schedule& schedule = world_.schedule;
  const Lap lap = last_lap_ ? Lap::kLast : Lap::kOrdinary;
  static_cast<Wish&>(*round) = DrawWish(schedule, lap, index_, random_);
  round->careless = !last_lap_ && random_.OneIn(static_cast<uint64_t>(schedule.careless_one_in));
  round->give_up = world_.clock.Now() + round->request.wait_timeout + kCallTimeout * 4;
  Send(round);
  if (!last_lap_ && random_.OneIn(static_cast<uint64_t>(schedule.cancel_one_in))) {
    GiveUpAtRandom(round);
  }
}

size_t Client::DaemonForCall() {
  const size_t daemons = world_.rpc.daemons();
  return world_.schedule.balanced ? random_.Below(daemons) : static_cast<size_t>(daemon_) % daemons;
}

void Client::Send(const RoundPtr& round) {
  round->daemon = static_cast<size_t>(daemon_) % world_.rpc.daemons();
  const Instant sent = world_.clock.Now();
  const Micros timeout = round->request.wait_timeout + kCallTimeout;
  core::AcquireRequest request = round->request;
  request.deadline = sent + timeout;
  round->acquire_call = world_.rpc.Send<core::AcquireAnswer>(
      process_, round->daemon, timeout,
      [request](Daemon& daemon, const CallPtr& call, Reply<core::AcquireAnswer> reply) {
        daemon.Acquire(call, request, std::move(reply));
      },
      [this, round, sent, attempt = request.attempt](absl::StatusOr<core::AcquireAnswer> answer) {
        if (attempt == round->request.attempt) OnAnswer(round, sent, std::move(answer));
      });
  SendAnewAtRandom(round);
}

// Sends the acquire to another daemon while the first one still works at it, over a connection that
// stands half-open: that daemon hears late that nobody waits there any more.
void Client::SendAnewAtRandom(const RoundPtr& round) {
  const int one_in = world_.schedule.impatient_one_in;
  if (one_in == 0 || last_lap_ || !impatience_.OneIn(static_cast<uint64_t>(one_in))) return;
  const Micros patience(impatience_.Between(1'000, 1'000'000));
  process_.Later(patience, [this, round, left = round->acquire_call] {
    if (round->over || left == nullptr || round->acquire_call != left) return;
    world_.rpc.AfterWorldTime(
        Micros(impatience_.Between(0, 6'000'000)),
        [this, daemon = round->daemon, left] { world_.rpc.Cancel(daemon, left); });
    ++daemon_;
    ++round->request.attempt;
    Send(round);
  });
}

void Client::OnAnswer(const RoundPtr& round, Instant sent,
                      absl::StatusOr<core::AcquireAnswer> answer) {
  round->acquire_call = nullptr;
  if (round->over) return;
  if (!answer.ok()) {
    if (GoesAgain(answer.status())) return Retry(round, answer.status());
    return Done(round);
  }
  if (std::holds_alternative<core::Contention>(*answer)) return Done(round);
  const Lease& lease = std::get<Lease>(*answer);
  if (lease.offered) return ClaimInTime(round);
  Hold(round, sent, lease);
}

// Or late, or never, as one that stands still or is dead.
void Client::ClaimInTime(const RoundPtr& round) {
  const int one_in = world_.schedule.slow_claim_one_in;
  if (one_in == 0 || last_lap_ || !impatience_.OneIn(static_cast<uint64_t>(one_in))) {
    return Claim(round, 0);
  }
  if (impatience_.OneIn(2)) return Done(round);
  process_.Later(Micros(impatience_.Between(0, kClaimedLateMax.count())), [this, round] {
    if (!round->over && !round->releasing) Claim(round, 0);
  });
}

void Client::Retry(const RoundPtr& round, const absl::Status& why) {
  ++daemon_;
  if (round->careless) return Done(round);
  ++round->request.attempt;
  if (world_.clock.Now() >= round->give_up || round->request.attempt > kTriesMax) {
    return Release(round, 0);
  }
  process_.Later(PauseAfter(why, random_), [this, round] {
    if (!round->over) Send(round);
  });
}

void Client::Claim(const RoundPtr& round, int tries) {
  const Instant sent = world_.clock.Now();
  core::ExtendRequest claim;
  claim.name = round->request.name;
  claim.lease_id = round->request.lease_id;
  claim.deadline = sent + kCallTimeout;
  world_.rpc.Send<Lease>(
      process_, world_.schedule.balanced ? DaemonForCall() : round->daemon, kCallTimeout,
      [claim](Daemon& daemon, const CallPtr& call, Reply<Lease> reply) {
        daemon.Extend(call, claim, std::move(reply));
      },
      [this, round, sent, tries](absl::StatusOr<Lease> lease) {
        if (round->over) return;
        if (lease.ok()) return Hold(round, sent, *lease);
        if (absl::IsUnavailable(lease.status()) && tries < 2) return Claim(round, tries + 1);
        Retry(round, lease.status());
      });
}

// Ends a wait before its time: by cancelling the call, by releasing the lease id, or both.
void Client::GiveUpAtRandom(const RoundPtr& round) {
  // Some while their request is still on its way.
  const int64_t patience_max = random_.OneIn(3) ? 4'000 : 4'000'000;
  process_.Later(Micros(random_.Between(0, patience_max)), [this, round] {
    if (round->over || round->believing || round->acquire_call == nullptr) return;
    const uint64_t way = random_.Below(3);
    if (way != 0) world_.rpc.Cancel(round->daemon, round->acquire_call);
    round->acquire_call = nullptr;
    if (way != 1) return Release(round, 0);
    round->releasing = true;
    Done(round);
  });
}

bool Client::Believes(const Round& round) const {
  return round.believing && world_.clock.Now() < round.believed_end;
}

void Client::Hold(const RoundPtr& round, Instant asked, const Lease& lease) {
  const Instant now = world_.clock.Now();
  const std::string& name = round->request.name;
  world_.judge.Granted(name, lease.token.value, lease.previous_lease_expired, asked, now);
  if (round->releasing) return;
  round->token = lease.token.value;
  round->reassertion = lease.reassertion;
  round->proved_until = asked + lease.remaining_ttl;
  round->believed_end = asked + Trusted(lease.remaining_ttl);
  if (now >= round->believed_end) return Release(round, 0);
  round->believing = true;
  world_.judge.BeliefBegan(name, index_, round->token);
  round->read = world_.counters[static_cast<size_t>(round->lock)].Read(round->token);
  EndBelief(round);
  const int clinging_one_in = world_.schedule.clinging_one_in;
  if (clinging_one_in > 0 && !last_lap_ && random_.OneIn(static_cast<uint64_t>(clinging_one_in))) {
    const auto lasts = std::chrono::ceil<Micros>(round->believed_end - now);
    const Instant until = round->believed_end + kClingingMax;
    return process_.Later(lasts + Micros(random_.Between(0, 500'000)),
                          [this, round, until] { Cling(round, until); });
  }
  process_.Later(round->request.ttl / 3, [this, round] { Renew(round); });
  process_.Later(round->hold, [this, round] { Work(round); });
}

// Watches the end of the lease. The watch is the world's, not the client's: belief ends by the
// clock even while the client is paused.
void Client::EndBelief(const RoundPtr& round) {
  const auto left = std::chrono::ceil<Micros>(round->believed_end - world_.clock.Now());
  world_.rpc.AfterWorldTime(left, [this, round] {
    if (!round->believing) return;
    if (world_.clock.Now() < round->believed_end) return EndBelief(round);
    round->believing = false;
    world_.judge.BeliefEnded(round->request.name, index_, round->token);
  });
}

core::ExtendRequest Client::ExtendOf(const Round& round) const {
  core::ExtendRequest extend;
  extend.name = round.request.name;
  extend.lease_id = round.request.lease_id;
  extend.token = core::FencingToken{round.token};
  extend.reassertion = round.reassertion;
  extend.deadline = world_.clock.Now() + kCallTimeout;
  return extend;
}

void Client::Renew(const RoundPtr& round) {
  if (!Believes(*round) || round->releasing) return;
  const Instant sent = world_.clock.Now();
  const core::ExtendRequest extend = ExtendOf(*round);
  world_.rpc.Send<Lease>(
      process_, DaemonForCall(), kCallTimeout,
      [extend](Daemon& daemon, const CallPtr& call, Reply<Lease> reply) {
        daemon.Extend(call, extend, std::move(reply));
      },
      [this, round, sent, extend, proved_until = round->proved_until](absl::StatusOr<Lease> lease) {
        if (!Believes(*round) || round->releasing) return;
        TellJudgeOfExtend(world_.judge, extend, proved_until, lease.status(), world_.clock.Now());
        if (lease.ok()) {
          round->reassertion = lease->reassertion;
          round->proved_until = sent + lease->remaining_ttl;
          round->believed_end = std::max(round->believed_end, sent + Trusted(lease->remaining_ttl));
        } else if (absl::IsUnavailable(lease.status())) {
          ++daemon_;
        }
      });
  process_.Later(round->request.ttl / 3, [this, round] { Renew(round); });
}

// Goes on proving a lease that is over, and that others may have had since. It does not use it.
void Client::Cling(const RoundPtr& round, Instant until) {
  if (round->releasing) return;
  if (last_lap_ || stopping_ || world_.clock.Now() >= until) return Release(round, 0);
  const core::ExtendRequest extend = ExtendOf(*round);
  world_.rpc.Send<Lease>(
      process_, DaemonForCall(), kCallTimeout,
      [extend](Daemon& daemon, const CallPtr& call, Reply<Lease> reply) {
        daemon.Extend(call, extend, std::move(reply));
      },
      [](absl::StatusOr<Lease>) {});
  process_.Later(round->request.ttl / 3, [this, round, until] { Cling(round, until); });
}

void Client::ProveEndedAtRandom(const RoundPtr& round) {
  const int one_in = world_.schedule.prove_ended_one_in;
  if (one_in > 0 && round->token != 0 && impatience_.OneIn(static_cast<uint64_t>(one_in))) {
    ProveEnded(round);
  }
}

// Proves a lease that it has released, over any daemon, until that is too late or has given it the
// lease back: then it lets it run out.
void Client::ProveEnded(const RoundPtr& round) {
  if (last_lap_ || stopping_ || world_.clock.Now() >= round->proved_until) return;
  const core::ExtendRequest extend = ExtendOf(*round);
  world_.rpc.Send<Lease>(
      process_, impatience_.Below(world_.rpc.daemons()), kCallTimeout,
      [extend](Daemon& daemon, const CallPtr& call, Reply<Lease> reply) {
        daemon.Extend(call, extend, std::move(reply));
      },
      [round](absl::StatusOr<Lease> lease) {
        if (lease.ok()) round->proved_until = {};
      });
  const Micros pause(impatience_.Between(1'000, Micros(round->request.ttl).count() / 3));
  process_.Later(pause, [this, round] { ProveEnded(round); });
}

// Adds one to the counter. A client that was paused does not notice that its lease is over: the
// counter does.
void Client::Work(const RoundPtr& round) {
  if (round->releasing) return;
  if (random_.OneIn(8)) AskFence(round);
  if (round->read) {
    FencedCounter& counter = world_.counters[static_cast<size_t>(round->lock)];
    counter.Write(round->token, *round->read + 1);
  }
  Release(round, 0);
}

void Client::AskFence(const RoundPtr& round) {
  core::FenceRequest fence;
  fence.name = round->request.name;
  fence.token = core::FencingToken{round->token};
  fence.deadline = world_.clock.Now() + kCallTimeout;
  world_.rpc.Send<core::FenceAnswer>(
      process_, DaemonForCall(), kCallTimeout,
      [fence](Daemon& daemon, const CallPtr& call, Reply<core::FenceAnswer> reply) {
        daemon.Fence(call, fence, std::move(reply));
      },
      [](absl::StatusOr<core::FenceAnswer>) {});
}

void Client::Release(const RoundPtr& round, int tries) {
  round->releasing = true;
  if (round->believing) {
    round->believing = false;
    world_.judge.BeliefEnded(round->request.name, index_, round->token);
  }
  if (tries == kTriesMax) return Done(round);
  core::ReleaseRequest release;
  release.name = round->request.name;
  release.lease_id = round->request.lease_id;
  release.deadline = world_.clock.Now() + kCallTimeout;
  world_.rpc.Send<core::ReleaseAnswer>(
      process_, DaemonForCall(), kCallTimeout,
      [release](Daemon& daemon, const CallPtr& call, Reply<core::ReleaseAnswer> reply) {
        daemon.Release(call, release, std::move(reply));
      },
      [this, round, tries](absl::StatusOr<core::ReleaseAnswer> answer) {
        if (answer.ok() || !absl::IsUnavailable(answer.status())) {
          ProveEndedAtRandom(round);
          return Done(round);
        }
        ++daemon_;
        process_.Later(Micros(random_.Between(10'000, 200'000)),
                       [this, round, tries] { Release(round, tries + 1); });
      });
}

void Client::Done(const RoundPtr& round) {
  if (std::exchange(round->over, true)) return;
  busy_ = false;
  if (last_lap_ && round->lock == 0 && round->token != 0) ++last_laps_;
  const Micros think(random_.Between(0, last_lap_ ? 1'000 : world_.schedule.think_max.count()));
  process_.Later(think, [this] { Next(); });
}

}  // namespace lockkeeper::simulation
