// SPDX-License-Identifier: Apache-2.0
#include "simulation/session_client.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "core/errors.h"
#include "simulation/acquire_answer.h"
#include "simulation/session_client_parts.h"

namespace lockkeeper::simulation {

using core::Instant;
using core::Lease;
using core::Micros;
using core::Millis;

namespace {

constexpr int kTriesMax = 12;
// An offer runs for a second.
constexpr Micros kClaimedLateMax{4'000'000};
constexpr int64_t kPatienceMax = 3;
constexpr int64_t kBeatsPerTtlMax = 8;

}  // namespace

SessionClient::SessionClient(const World& world, int index, support::Random random)
    : world_(world),
      index_(index),
      random_(random),
      oddity_(~world.schedule.seed + static_cast<uint64_t>(index)),
      process_(world.executor),
      daemon_(static_cast<int>(random_.Below(world.schedule.entrances))),
      patience_(static_cast<size_t>(random_.Between(1, kPatienceMax))),
      beat_every_(world.schedule.ttl / random_.Between(3, kBeatsPerTtlMax)) {}

void SessionClient::Start() {
  for (int i = 0; i < world_.schedule.session_leases; ++i) {
    process_.Later(Think(), [this] { Next(); });
  }
}

void SessionClient::Stop() {
  stopping_ = true;
  CloseIfDone();
}

void SessionClient::RunLastLap() {
  last_lap_ = true;
  stopping_ = false;
  Next();
}

void SessionClient::Kill() {
  for (const RoundPtr& round : rounds_) StopBelieving(*round);
  for (const LinkPtr& link : links_) {
    for (const auto& [id, done] : link->questions) world_.judge.CallGone(id);
    for (const auto& [number, beat] : link->beats) world_.judge.CallGone(beat.id);
    const bool silent = random_.OneIn(3);
    link->stream->Break(silent ? Blind::kDaemon : Blind::kNobody,
                        Micros(random_.Between(0, 4'000'000)));
    // They hold the link, as it holds them.
    link->questions.clear();
    link->beats.clear();
  }
  process_.Kill();
}

void SessionClient::BreakStream(Blind blind, Micros blind_for) {
  if (link_) link_->stream->Break(blind, blind_for);
}

void SessionClient::StandStill(Micros duration) {
  if (link_) link_->stream->StandStill(duration);
}

// With several leases at a time it wants each of them less often.
Micros SessionClient::Think() {
  const Micros longest = world_.schedule.think_max * world_.schedule.session_leases;
  return Micros(random_.Between(0, last_lap_ ? 1'000 : longest.count()));
}

void SessionClient::Next() {
  if (stopping_ || (last_lap_ && (lapping_ || last_laps_ > 0))) return;
  auto round = std::make_shared<Round>();
  rounds_.push_back(round);
  lapping_ = last_lap_;
  const Schedule& schedule = world_.schedule;
  const Lap lap = last_lap_ ? Lap::kLast : Lap::kOrdinary;
  static_cast<Wish&>(*round) = DrawWish(schedule, lap, index_, random_);
  round->request.deadline = Instant::max();
  round->careless = !last_lap_ && random_.OneIn(static_cast<uint64_t>(schedule.careless_one_in));
  round->give_up = world_.clock.Now() + round->request.wait_timeout + kAnswerTimeout;
  Send(round);
  if (!last_lap_ && random_.OneIn(static_cast<uint64_t>(schedule.cancel_one_in))) {
    GiveUpAtRandom(round);
  }
}

void SessionClient::Send(const RoundPtr& round) {
  const LinkPtr link = CurrentLink();
  const Instant sent = world_.clock.Now();
  round->acquiring_over = link;
  round->acquire =
      Ask(link, {[round, request = round->request](SessionServer& server, uint64_t id) {
                   server.Run({id, request});
                 },
                 [this, round, link, sent](const Answer& answer) {
                   round->acquiring_over = nullptr;
                   if (!round->over && !round->releasing) OnAcquired(round, link, sent, answer);
                 },
                 round->request.wait_timeout + kAnswerTimeout});
}

void SessionClient::OnAcquired(const RoundPtr& round, const LinkPtr& link, Instant sent,
                               const Answer& answer) {
  if (!answer.ok()) {
    if (GoesAgain(answer.status())) return Retry(round, answer.status());
    return Done(round);
  }
  const auto& outcome = std::get<core::AcquireAnswer>(*answer);
  if (std::holds_alternative<core::Contention>(outcome)) return Done(round);
  const Lease& lease = std::get<Lease>(outcome);
  if (link->closing) return Release(round, 0);
  if (lease.offered) return ClaimInTime(round, link);
  Hold(round, link, sent, lease);
}

void SessionClient::Retry(const RoundPtr& round, const absl::Status& why) {
  if (round->careless) return Done(round);
  ++round->request.attempt;
  if (world_.clock.Now() >= round->give_up || round->request.attempt > kTriesMax) {
    return Release(round, 0);
  }
  process_.Later(PauseAfter(why, random_), [this, round] {
    if (!round->over && !round->releasing) Send(round);
  });
}

// Or late, or never, as one that stands still or is dead.
void SessionClient::ClaimInTime(const RoundPtr& round, const LinkPtr& link) {
  const int one_in = world_.schedule.slow_claim_one_in;
  if (one_in == 0 || last_lap_ || !oddity_.OneIn(static_cast<uint64_t>(one_in))) {
    return Claim(round, link);
  }
  if (oddity_.OneIn(2)) return Done(round);
  process_.Later(Micros(oddity_.Between(0, kClaimedLateMax.count())), [this, round, link] {
    if (round->over || round->releasing) return;
    link->over ? Retry(round, core::Error(core::ErrorReason::kOutcomeUnknown, "the stream broke"))
               : Claim(round, link);
  });
}

// In the session that was offered the lock: only there the claim makes it keep the lease.
void SessionClient::Claim(const RoundPtr& round, const LinkPtr& link) {
  const Instant sent = world_.clock.Now();
  core::ExtendRequest claim;
  claim.name = round->request.name;
  claim.lease_id = round->request.lease_id;
  claim.deadline = Instant::max();
  Ask(link, {[claim](SessionServer& server, uint64_t id) { server.Run({id, claim}); },
             [this, round, link, sent](const Answer& answer) {
               if (round->over || round->releasing) return;
               if (!answer.ok()) return Retry(round, answer.status());
               if (link->closing) return Release(round, 0);
               Hold(round, link, sent, std::get<Lease>(*answer));
             }});
}

// Ends a wait before its time: by cancelling it, by releasing the lease id, or by hanging up.
void SessionClient::GiveUpAtRandom(const RoundPtr& round) {
  const int64_t patience_max = random_.OneIn(3) ? 4'000 : 4'000'000;
  process_.Later(Micros(random_.Between(0, patience_max)), [this, round] {
    const LinkPtr link = round->acquiring_over;
    if (round->over || round->releasing || link == nullptr || link->closing) return;
    const uint64_t way = random_.Below(3);
    if (way == 0) return Release(round, 0);
    if (way == 1) {
      round->careless = true;
      return Abandon(link);
    }
    link->stream->Send([id = round->acquire](SessionServer& server) { server.Cancel(id); });
  });
}

bool SessionClient::Believes(const Round& round) const {
  return round.believing && world_.clock.Now() < round.believed_end;
}

void SessionClient::Hold(const RoundPtr& round, const LinkPtr& link, Instant asked,
                         const Lease& lease) {
  const Instant now = world_.clock.Now();
  const std::string& name = round->request.name;
  world_.judge.Granted(name, lease.token.value, lease.previous_lease_expired, asked, now);
  round->token = lease.token.value;
  round->reassertion = lease.reassertion;
  round->believed_end = asked + Trusted(lease.remaining_ttl);
  if (now >= round->believed_end || round->lost) return Release(round, 0);
  round->believing = true;
  round->link = link;
  world_.judge.BeliefBegan(name, index_, round->token);
  round->read = world_.counters[static_cast<size_t>(round->lock)].Read(round->token);
  WatchEnd(round);
  StartBeating(link);
  if (link != link_) AdoptAll();
  if (link == link_ && random_.OneIn(15)) MoveOn();
  if (random_.OneIn(8)) Extend(round);
  process_.Later(round->hold, [this, round] { Work(round); });
}

void SessionClient::Extend(const RoundPtr& round) {
  const LinkPtr link = round->link;
  if (link->over || link->closing) return;
  const Instant sent = world_.clock.Now();
  core::ExtendRequest extend;
  extend.name = round->request.name;
  extend.lease_id = round->request.lease_id;
  extend.token = core::FencingToken{round->token};
  extend.reassertion = round->reassertion;
  extend.deadline = Instant::max();
  Ask(link, {[extend](SessionServer& server, uint64_t id) { server.Run({id, extend}); },
             [this, round, sent](const Answer& answer) {
               if (round->releasing || round->over || round->lost) return;
               if (core::ReasonOf(answer.status()) == core::ErrorReason::kLeaseLost) Lost(*round);
               if (!Believes(*round)) return;
               CheckTakenBack(world_.judge, round->request.name, answer.status(),
                              world_.clock.Now());
               if (!answer.ok()) return;
               round->reassertion = std::get<Lease>(*answer).reassertion;
               Prolong(*round, sent + Trusted(std::get<Lease>(*answer).remaining_ttl));
             }});
}

void SessionClient::Prolong(Round& round, Instant end) {
  round.believed_end = std::max(round.believed_end, end);
}

// The watch is the world's, not the client's: belief ends by the clock even while the client is
// paused.
void SessionClient::WatchEnd(const RoundPtr& round) {
  const auto left = std::chrono::ceil<Micros>(round->believed_end - world_.clock.Now());
  world_.rpc.AfterWorldTime(left, [this, round] {
    if (!round->believing) return;
    if (world_.clock.Now() < round->believed_end) return WatchEnd(round);
    StopBelieving(*round);
  });
}

void SessionClient::StopBelieving(Round& round) {
  if (!std::exchange(round.believing, false)) return;
  world_.judge.BeliefEnded(round.request.name, index_, round.token);
}

void SessionClient::Lost(Round& round) {
  round.lost = true;
  world_.judge.ToldLost(round.request.name, round.token, round.believed_end, world_.clock.Now());
  StopBelieving(round);
}

// Adds one to the counter. A client that was paused does not notice that its lease is over: the
// counter does.
void SessionClient::Work(const RoundPtr& round) {
  if (round->releasing || round->over) return;
  if (round->read) {
    FencedCounter& counter = world_.counters[static_cast<size_t>(round->lock)];
    counter.Write(round->token, *round->read + 1);
  }
  if (!last_lap_ && round->link == link_ && link_ && random_.OneIn(10)) {
    return CloseReleasing(round);
  }
  Release(round, 0);
}

void SessionClient::Release(const RoundPtr& round, int tries) {
  round->releasing = true;
  round->closing = false;
  StopBelieving(*round);
  if (tries == kTriesMax) return Done(round);
  core::ReleaseRequest release;
  release.name = round->request.name;
  release.lease_id = round->request.lease_id;
  release.deadline = Instant::max();
  Ask(CurrentLink(), {[release](SessionServer& server, uint64_t id) { server.Run({id, release}); },
                      [this, round, tries](const Answer& answer) {
                        if (answer.ok() || !absl::IsUnavailable(answer.status()))
                          return Done(round);
                        process_.Later(Micros(random_.Between(10'000, 200'000)),
                                       [this, round, tries] { Release(round, tries + 1); });
                      }});
}

void SessionClient::Done(const RoundPtr& round) {
  if (std::exchange(round->over, true)) return;
  StopBelieving(*round);
  std::erase(rounds_, round);
  if (last_lap_) lapping_ = false;
  if (last_lap_ && round->lock == 0 && round->token != 0) ++last_laps_;
  process_.Later(Think(), [this] { Next(); });
  CloseIfDone();
}

}  // namespace lockkeeper::simulation
