// SPDX-License-Identifier: Apache-2.0
#include "redis/guard/node_guard.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "config/duration.h"
#include "core/errors.h"
#include "redis/format/lock_record.h"
#include "redis/node/command.h"
#include "redis/node/daemon_channels.h"
#include "redis/scripts.h"

namespace lockkeeper::redis {
namespace {

using core::ErrorReason;
using core::Instant;
using core::Micros;
using core::Millis;
using core::NodeTime;

constexpr Millis kBeatInterval{1'000};
// Between looks at a store that nothing has been confirmed of.
constexpr Millis kRetryInterval{50};
// Grants are refused for so long at a time because of a setting.
constexpr Micros kProblemLasts = std::chrono::seconds(5);
constexpr size_t kEpochDigits = 10;

Millis InWholeSeconds(Millis time) { return std::chrono::ceil<std::chrono::seconds>(time); }

}  // namespace

NodeGuard::NodeGuard(Node& node, const core::Clock& clock, core::Executor& executor,
                     TokenFloor& token_floor, GuardObserver& observer, NodeGuardOptions options)
    : node_(node),
      clock_(clock),
      executor_(executor),
      token_floor_(token_floor),
      observer_(observer),
      options_(std::move(options)),
      new_store_(node, clock, options_.new_store) {
  BeatLater();
}

NodeGuard::~NodeGuard() { *alive_ = false; }

bool NodeGuard::IsConfirmed(size_t lane) const {
  const NodeLife& life = node_.life(lane);
  return trusted_ && life.evicted_keys <= evicted_ && life.run_id == known_->marker.run_id;
}

bool NodeGuard::Permits(size_t lane, Millis closes_for) {
  if (node_.life(lane).run_id.empty()) return true;
  if (!IsConfirmed(lane)) {
    Check(lane);
    return false;
  }
  if (node_.life(lane).problem != told_.problem) UpdateTrust();
  if (closes_for > known_->marker.ttl_ceiling) {
    ceiling_wanted_ = std::max(ceiling_wanted_, InWholeSeconds(closes_for));
    RaiseCeiling(lane);
    return false;
  }
  return true;
}

CallPermit NodeGuard::Permit() const {
  if (!known_ || !node_clock_.known()) return {.stamp = "unknown"};
  const Instant now = clock_.Now();
  const StoreMarker& marker = known_->marker;
  CallPermit permit{.stamp = stamp_,
                    .epoch = epoch_,
                    .grants_from = marker.quarantine_end,
                    .earliest = node_clock_.Earliest(now),
                    .latest = node_clock_.Latest(now + options_.call_lifetime)};
  if (!told_.problem.empty()) {
    permit.grants_from = std::max(permit.grants_from,
                                  NodeTime{node_clock_.Latest(now).micros + kProblemLasts.count()});
  }
  return permit;
}

void NodeGuard::OnRefused(size_t lane) {
  trusted_ = false;
  Check(lane);
}

// As long as the node's clock, had nobody set it, could not have read `node` by now, leases that
// were over for the script run still. Once it could have, they are over in truth.
bool NodeGuard::OnAnswered(size_t lane, Instant sent, NodeTime node) {
  if (sent < clock_learned_) return false;  // Whichever clock it was, it was noticed.
  if (LearnClock(sent, node)) return true;
  OnRefused(lane);
  return false;
}

// False if the clock was set.
bool NodeGuard::LearnClock(Instant sent, NodeTime node) {
  token_floor_.SawClock(node);
  if (node_clock_.Saw(sent, clock_.Now(), node)) return true;
  clock_stepped_ = true;
  LearnClockAnew(sent, node);
  return false;
}

void NodeGuard::LearnClockAnew(Instant sent, NodeTime node) {
  clock_learned_ = clock_.Now();
  token_floor_.SawClock(node_clock_.Latest(clock_learned_));  // What others were granted before.
  node_clock_.Forget();
  node_clock_.Saw(sent, clock_learned_, node);
}

std::string NodeGuard::HeldBackBecause() const {
  return waiting_.empty() ? "" : "the store " + waiting_;
}

absl::Status NodeGuard::Refusal() {
  observer_.OnGrantRefused();
  const StoreTrust now = trust();
  if (now.quarantine_left > Micros(0)) {
    const auto left = std::chrono::ceil<Millis>(now.quarantine_left);
    std::string text = "the store may have forgotten leases";
    if (now.loss) text.append(": ").append(ExplanationOf(*now.loss));
    text += "; nothing new is granted for another " + std::to_string(left.count()) + " ms";
    return core::ErrorWithDelay(ErrorReason::kStoreQuarantined, text, left);
  }
  return core::Error(ErrorReason::kStoreUnavailable,
                     now.problem.empty() ? "the store has just been checked: try again"
                                         : "nothing is granted: the store " + now.problem);
}

NodeTime NodeGuard::NodeNow() const {
  if (!node_clock_.known()) return {};
  const Instant now = clock_.Now();
  return {node_clock_.Earliest(now).micros / 2 + node_clock_.Latest(now).micros / 2};
}

StoreTrust NodeGuard::trust() const {
  StoreTrust trust{
      .loss = last_loss_, .noticed = noticed_, .problem = told_.problem, .waiting = waiting_};
  if (!known_) return trust;
  trust.epoch = known_->marker.epoch;
  trust.quarantine_end = known_->marker.quarantine_end;
  if (!node_clock_.known()) return trust;
  trust.quarantine_left =
      std::max(Micros(trust.quarantine_end.micros - NodeNow().micros), Micros(0));
  return trust;
}

void NodeGuard::RunMarkerScript(size_t lane, const std::string& expected,
                                const std::string& replacement,
                                absl::AnyInvocable<void(absl::StatusOr<Reply>) &&> done) {
  Command command(6);
  command.Word("EVALSHA").Word(kMarkerScript.sha1).Number(1).Word(options_.marker_key);
  command.Word(expected).Word(replacement);
  node_.Run(lane, kMarkerScript, std::move(command),
            [alive = alive_, done = std::move(done)](absl::StatusOr<Reply> reply) mutable {
              if (*alive) std::move(done)(std::move(reply));
            });
}

// Looks at the marker, unless that is under way.
void NodeGuard::Check(size_t lane, MayImprove may_improve) {
  if (checking_) return;
  checking_ = true;
  const Instant sent = clock_.Now();
  RunMarkerScript(lane, "", "", [this, lane, sent, may_improve](absl::StatusOr<Reply> reply) {
    OnSeen(lane, sent, may_improve, std::move(reply));
  });
}

void NodeGuard::EndCheck() {
  checking_ = false;
  UpdateTrust();
  on_change_();
}

void NodeGuard::CheckAgainSoon() {
  retry_timer_ = executor_.After(kRetryInterval, [this] { EndCheck(); });
}

// Redis refuses to be looked at, for want of rights above all: that does not pass by itself.
void NodeGuard::NoteRefusal(const std::string& answer) {
  if (answer.empty()) return;
  check_problem_ = "answered the look at its marker with: " + answer +
                   " (docs/operating/redis.md lists the rights that the daemon needs)";
}

// The text of the marker that scripts/marker.lua answered.
std::optional<std::string> NodeGuard::TakeReply(size_t lane, Instant sent,
                                                const absl::StatusOr<Reply>& reply) {
  if (!reply.ok() || reply->type != Reply::Type::kArray || reply->items.size() != 2 ||
      node_.life(lane).run_id.empty()) {
    if (reply.ok() && reply->type == Reply::Type::kError) NoteRefusal(reply->text);
    return std::nullopt;
  }
  if (sent < clock_learned_) return std::nullopt;  // By the clock as it was, or as it is.
  LearnClock(sent, {reply->items[0].integer});
  return reply->items[1].text;
}

void NodeGuard::OnSeen(size_t lane, Instant sent, MayImprove may_improve,
                       absl::StatusOr<Reply> reply) {
  const std::optional<std::string> raw = TakeReply(lane, sent, reply);
  if (!raw) return CheckAgainSoon();
  Sighting sighting{.known = known_,
                    .seen = ParseMarker(*raw),
                    .life = node_.life(lane),
                    .evicted_before = evicted_,
                    .clock_stepped = clock_stepped_,
                    .may_improve = may_improve == MayImprove::kYes,
                    .now = {reply->items[0].integer},
                    .token_floor = {token_floor_.value()}};
  // Another daemon noticed something: perhaps that the clock was set, by less than a slow answer
  // tells.
  if (known_ && sighting.seen && sighting.seen->marker.epoch > known_->marker.epoch) {
    LearnClockAnew(sent, sighting.now);
  }
  sighting.unreadable = !sighting.seen && !raw->empty();
  if (!known_ && raw->empty()) return AskWhetherNew(lane, std::move(sighting));
  Decide(lane, sighting, *raw);
}

void NodeGuard::AskWhetherNew(size_t lane, Sighting sighting) {
  const NodeLife life = sighting.life;
  const NodeTime now = sighting.now;
  new_store_.Ask(
      life, now, [this, lane, sighting = std::move(sighting)](const StoreFinding& found) mutable {
        waiting_.clear();
        switch (found.kind) {
          case StoreFinding::Kind::kFailed:
            NoteRefusal(found.refusal);
            return CheckAgainSoon();
          case StoreFinding::Kind::kTooEarly:
            waiting_ = "is empty: in " + config::FormatDuration(new_store_.wait()) +
                       " it counts as new, unless another daemon reports that it held data";
            return CheckAgainSoon();
          case StoreFinding::Kind::kNew:
            break;
          case StoreFinding::Kind::kHasRecords:
            sighting.records = LossKind::kRecordsFirst;
            break;
          case StoreFinding::Kind::kTooManyKeys:
            sighting.records = LossKind::kNotSearched;
            break;
        }
        Decide(lane, sighting, "");
      });
}

void NodeGuard::Decide(size_t lane, const Sighting& sighting, const std::string& raw) {
  Judgement judgement = Judge(sighting, options_.policy);
  if (judgement.kind == Judgement::Kind::kTrusted) {
    Confirm(*sighting.seen, judgement);
    return EndCheck();
  }
  Replace(lane, std::string(WithoutBeat(raw)), std::move(judgement));
}

// Nothing is permitted meanwhile: on another lane a call would come before the new marker.
void NodeGuard::Replace(size_t lane, const std::string& expected, Judgement judgement) {
  trusted_ = false;
  std::string text = judgement.marker.Text();
  const Instant sent = clock_.Now();
  RunMarkerScript(lane, expected, text,
                  [this, lane, sent, text, step_judged = clock_stepped_,
                   judgement = std::move(judgement)](absl::StatusOr<Reply> reply) {
                    const std::optional<std::string> raw = TakeReply(lane, sent, reply);
                    const std::optional<SeenMarker> seen = raw ? ParseMarker(*raw) : std::nullopt;
                    if (!seen || WithoutBeat(*raw) != text)
                      return CheckAgainSoon();  // Another one was first.
                    if (clock_stepped_ && !step_judged) return CheckAgainSoon();  // Meanwhile.
                    Confirm(*seen, judgement);
                    TellOfMarker(node_, options_.new_store.channel_pattern, stamp_);
                    EndCheck();
                  });
}

void NodeGuard::Confirm(const SeenMarker& seen, const Judgement& judgement) {
  const bool another_epoch = known_ && seen.marker.epoch > known_->marker.epoch;
  known_ = seen;
  trusted_ = true;
  check_problem_.clear();
  waiting_.clear();
  clock_stepped_ = false;
  evicted_ = judgement.evicted_keys;  // Not those evicted since: nobody has judged them.
  stamp_ = seen.marker.Stamp();
  epoch_ = Digits(seen.marker.epoch, kEpochDigits);
  reassertion_key_ = seen.marker.reassertion_key;
  token_floor_.SawClock({seen.marker.token_floor.value});
  switch (judgement.kind) {
    case Judgement::Kind::kFirstUse:
      observer_.OnFirstUse(trust());
      break;
    case Judgement::Kind::kLoss:
      last_loss_ = judgement.loss;
      noticed_ = NodeNow();
      observer_.OnLoss(judgement.loss, trust());
      break;
    case Judgement::Kind::kTrusted:
    case Judgement::Kind::kRewrite:
      if (!another_epoch) break;
      last_loss_.reset();
      noticed_ = NodeNow();
      observer_.OnNewEpoch(trust());
      break;
  }
  WatchQuarantine();
}

void NodeGuard::RaiseCeiling(size_t lane) {
  if (checking_) return;
  checking_ = true;
  Judgement judgement{
      .kind = Judgement::Kind::kRewrite, .marker = known_->marker, .evicted_keys = evicted_};
  judgement.marker.ttl_ceiling = std::max(judgement.marker.ttl_ceiling, ceiling_wanted_);
  Replace(lane, known_->marker.Text(), std::move(judgement));
}

void NodeGuard::BeatLater() {
  beat_timer_ = executor_.After(trusted_ ? kBeatInterval : kRetryInterval, [this] { Beat(); });
}

std::optional<size_t> NodeGuard::ConnectedLane() const {
  for (size_t lane = 0; lane < node_.lanes(); ++lane) {
    if (!node_.life(lane).run_id.empty()) return lane;
  }
  return std::nullopt;
}

// Calls go on meanwhile: the message may be an old one, and if it is not, scripts refuse them.
void NodeGuard::OnMarkerWritten(std::string_view stamp) {
  const std::optional<size_t> lane = ConnectedLane();
  if (known_ && lane && stamp != stamp_) Check(*lane);
}

void NodeGuard::Beat() {
  BeatLater();
  const std::optional<size_t> connected = ConnectedLane();
  if (!connected || checking_ || beating_) return;
  const size_t lane = *connected;
  const NodeLife& life = node_.life(lane);
  if (!IsConfirmed(lane) || life.durable != known_->marker.durable) {
    trusted_ = false;
    return Check(lane, MayImprove::kYes);
  }
  UpdateTrust();
  beating_ = true;
  const Instant sent = clock_.Now();
  const std::string text = known_->marker.Text();
  RunMarkerScript(lane, text, text, [this, lane, sent, text](absl::StatusOr<Reply> reply) {
    beating_ = false;
    const std::optional<std::string> raw = TakeReply(lane, sent, reply);
    if (!trusted_) return;
    if (!raw) {
      if (!check_problem_.empty()) OnRefused(lane);  // Another look tells whether that lasts.
      return;
    }
    const std::optional<SeenMarker> seen = ParseMarker(*raw);
    if (seen && WithoutBeat(*raw) == text && !clock_stepped_) {
      known_->beat = seen->beat;
    } else {
      OnRefused(lane);
    }
  });
}

// Tells when the quarantine is over, which is when acquires that wait are worth another look.
void NodeGuard::WatchQuarantine() {
  quarantine_timer_.reset();
  const Micros left = trust().quarantine_left;
  if (left == Micros(0)) return;
  quarantine_timer_ = executor_.After(left, [this] {
    UpdateTrust();
    WatchQuarantine();
  });
}

void NodeGuard::UpdateTrust() {
  const auto comparable = [](StoreTrust trust) {
    trust.quarantine_left = Micros(trust.quarantine_left > Micros(0) ? 1 : 0);
    return trust;
  };
  StoreTrust now = trust();
  now.problem = check_problem_;
  for (size_t lane = 0; lane < node_.lanes(); ++lane) {
    if (now.problem.empty()) now.problem = node_.life(lane).problem;
  }
  if (comparable(now) == comparable(told_)) return;
  told_ = now;
  observer_.OnTrustChanged(now);
}

}  // namespace lockkeeper::redis
