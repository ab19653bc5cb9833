// SPDX-License-Identifier: Apache-2.0
#include "redis/guard/node_guard.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/errors.h"
#include "redis/format/lock_record.h"
#include "redis/format/marker_columns.h"
#include "redis/node/command.h"
#include "redis/node/daemon_channels.h"
#include "redis/node/error_reply.h"
#include "redis/scripts.h"
#include "text/duration.h"

namespace lockkeeper::redis {
namespace {

using core::Instant;
using core::Micros;
using core::Millis;
using core::NodeTime;

constexpr Millis kBeatInterval{1'000};
// Between looks at a store that nothing has been confirmed of.
constexpr Millis kRetryInterval{50};
// The same of a daemon that others have to hear of before it may begin.
constexpr Millis kJoinInterval{100};
// Grants are refused for so long at a time because of a setting.
constexpr Micros kProblemLasts = std::chrono::seconds(5);

// The outcome of a call that was to write the marker `text`.
absl::Status StatusOfReplacement(const absl::StatusOr<Reply>& reply, std::string_view text) {
  if (!reply.ok()) return reply.status();
  if (reply->type == Reply::Type::kError) return StatusOfErrorReply(reply->text);
  if (reply->items.size() >= 2 && WithoutBeat(reply->items[1].text) == text) {
    return absl::OkStatus();
  }
  return core::Error(core::ErrorReason::kStoreUnavailable,
                     "the marker or the clock of the store was changed meanwhile: look again");
}

Millis InWholeSeconds(Millis time) { return std::chrono::ceil<std::chrono::seconds>(time); }

}  // namespace

NodeGuard::NodeGuard(Node& node, const core::Clock& clock, core::Executor& executor,
                     GuardObserver& observer, NodeGuardOptions options)
    : node_(node),
      clock_(clock),
      executor_(executor),
      observer_(observer),
      options_(std::move(options)),
      new_store_(node, clock, options_.new_store) {
  if (!options_.roll_id.empty()) roll_.emplace(options_.roll_id);
  BeatLater();
}

NodeGuard::~NodeGuard() { *alive_ = false; }

void NodeGuard::CoverLeases(Millis longest_lease) {
  options_.policy.ceiling_max = std::max(options_.policy.ceiling_max, longest_lease);
}

bool NodeGuard::IsConfirmed(Route route) const {
  const NodeLife& life = node_.life(route);
  return trusted_ && life.evicted_keys == evicted_ && life.run_id == known_->marker.run_id;
}

bool NodeGuard::Permits(Route route, Millis closes_for, Granting granting) {
  if (node_.life(route).run_id.empty()) return true;
  if (!IsConfirmed(route)) {
    Check(route);
    return false;
  }
  if (granting == Granting::kWhatWasTold) return true;
  if (!IsOnRoll()) return false;
  if (node_.setting_problem() != told_.problem) UpdateTrust();
  if (closes_for > known_->marker.ttl_ceiling) {
    // Nothing is granted now anyway. And a ceiling that rises in a quarantine would hide from other
    // daemons that it does not cover the leases which they know of: see Permit.
    if (granting == Granting::kAnew && InQuarantine()) return true;
    ceiling_wanted_ = std::max(ceiling_wanted_, InWholeSeconds(closes_for));
    RaiseCeiling(route);
    return false;
  }
  return true;
}

bool NodeGuard::InQuarantine() const {
  return known_ && node_clock_.known() &&
         node_clock_.Latest(clock_.Now()) < known_->marker.quarantine_end;
}

CallPermit NodeGuard::Permit(Route, Millis closes_for) const {
  if (!known_ || !node_clock_.known()) {
    return {.token_floor = token_floor_.value(),
            .marker_key = options_.marker_key,
            .marker = "unknown"};
  }
  const Instant now = clock_.Now();
  const StoreMarker& marker = known_->marker;
  CallPermit permit{.token_floor = token_floor_.value(),
                    .marker_key = options_.marker_key,
                    .marker = marker_,
                    .epoch = epoch_,
                    .grants_from = marker.quarantine_end,
                    .earliest = node_clock_.Earliest(now),
                    .latest = node_clock_.Latest(now + options_.call_lifetime)};
  if (roll_) permit.latest = std::min(permit.latest, node_clock_.Latest(CallsUntil()));
  if (!told_.problem.empty()) {
    permit.grants_from = std::max(permit.grants_from,
                                  NodeTime{node_clock_.Latest(now).micros + kProblemLasts.count()});
  }
  if (closes_for > marker.ttl_ceiling) {
    permit.grants_from = std::max(permit.grants_from, NodeTime{permit.latest.micros + 1});
  }
  return permit;
}

void NodeGuard::OnConfirmed(Route, core::Instant sent, const core::Lease& lease) {
  // Of an earlier epoch, its record does not count any more.
  if (sent >= epoch_known_at_) last_lease_.Confirmed(lease, known_->marker.epoch);
}

void NodeGuard::OnRefused(Route route, Instant sent, RefusedFor reason) {
  if (reason == RefusedFor::kOlderData && sent >= epoch_known_at_) older_data_ = true;
  Doubt(route);
}

// Holds calls back until the marker has been looked at again.
void NodeGuard::Doubt(Route route) {
  trusted_ = false;
  Check(route);
}

// False if the node's clock, had nobody set it, could not show `node` yet: the script may have
// taken live leases for expired. If the clock could show that time by now, those leases have
// expired.
bool NodeGuard::OnAnswered(Route route, Instant sent, NodeTime node) {
  // A step was noticed since it was sent: nobody knows which clock the script read.
  if (sent < clock_learned_) return false;
  if (LearnClock(sent, node, known_->marker.epoch)) return true;
  Doubt(route);
  return false;
}

void NodeGuard::RunMarkerScript(Route route, const std::string& expected,
                                const StoreMarker* replacement, int64_t beats,
                                Quarantine quarantine, ReplyDone done) {
  // Before the clock is known it only looks.
  const Instant now = clock_.Now();
  const bool known = node_clock_.known();
  const NodeTime earliest = known ? node_clock_.Earliest(now) : NodeTime();
  const NodeTime latest = known ? node_clock_.Latest(now + options_.call_lifetime) : NodeTime();
  constexpr size_t kWords = 9;
  constexpr size_t kWordsOfRoll = 9;
  Command command(kWords + (roll_ ? kWordsOfRoll : 0));
  command.Word("EVALSHA").Word(kMarkerScript.sha1).Number(roll_ ? 2 : 1).Word(options_.marker_key);
  if (roll_) command.Word(options_.keys.RollKey());
  command.Word(expected).Word(replacement == nullptr ? "" : replacement->Text()).Number(beats);
  command.Number(earliest.micros).Number(latest.micros);
  if (roll_) AddRoll(replacement, quarantine == Quarantine::kMayEndEarly, command);
  node_.Run(route, kMarkerScript, std::move(command),
            [alive = alive_, done = std::move(done)](absl::StatusOr<Reply> reply) mutable {
              if (*alive) std::move(done)(std::move(reply));
            });
}

// Looks at the marker, unless that is under way.
void NodeGuard::Check(Route route, MayImprove may_improve) {
  if (checking_) return;
  checking_ = true;
  const Instant sent = clock_.Now();
  const int64_t beats = known_ ? known_->beat.count : 0;
  RunMarkerScript(route, "", nullptr, 0, Quarantine::kAsLong,
                  [this, route, sent, beats, may_improve](absl::StatusOr<Reply> reply) {
                    OnSeen(route, sent, beats, may_improve, std::move(reply));
                  });
}

void NodeGuard::EndCheck() {
  checking_ = false;
  UpdateTrust();
  on_change_();
  if (beat_soon_) BeatSoon();
}

void NodeGuard::CheckAgainSoon() {
  retry_timer_ = executor_.After(kRetryInterval, [this] {
    EndCheck();
    const std::optional<Route> route = ConnectedRoute();
    if (!trusted_ && route)
      Check(*route);  // Even if no call waits: only regular looks show steps of the clock.
  });
}

// Reads the reply of scripts/marker.lua. `written`: the marker that it was to write; empty for
// none.
std::optional<NodeGuard::Found> NodeGuard::TakeReply(Route route, Instant sent,
                                                     const absl::StatusOr<Reply>& reply,
                                                     std::string_view written) {
  if (!reply.ok() || reply->type != Reply::Type::kArray || reply->items.size() != (roll_ ? 3 : 2) ||
      node_.life(route).run_id.empty()) {
    const bool is_refusal = reply.ok() && reply->type == Reply::Type::kError;
    if (is_refusal && !IsOfMovedKeys(reply->text)) NoteRefusal(reply->text);
    return std::nullopt;
  }
  if (sent < clock_learned_) return std::nullopt;  // See OnAnswered.
  Found found{reply->items[1].text, ParseMarker(reply->items[1].text)};
  const NodeTime node{reply->items[0].integer};
  const bool wrote = !written.empty() && WithoutBeat(found.text) == written && found.marker &&
                     found.marker->beat.at == node;
  if (roll_) ReadRoll(*reply, wrote, node);
  if (found.marker && IsNewer(found.marker->marker) && WithoutBeat(found.text) != written) {
    LearnClockOfNewEpoch(sent, node, *found.marker);
  } else if (LearnClock(sent, node, found.marker ? found.marker->marker.epoch : 0)) {
    NoteUnchanged(sent);
  }
  return found;
}

void NodeGuard::OnSeen(Route route, Instant sent, int64_t beats, MayImprove may_improve,
                       absl::StatusOr<Reply> reply) {
  const std::optional<Found> found = TakeReply(route, sent, reply);
  if (!found) {
    // Only another look takes the problem away, even if the server known so far is there again.
    if (!check_problem_.empty()) trusted_ = false;
    return CheckAgainSoon();
  }
  const std::string& raw = found->text;
  Sighting sighting{
      .known = known_,
      .seen = found->marker,
      .life = node_.life(route),
      .from_living_primary = found->marker && node_.HasPrimary(found->marker->marker.run_id),
      .evicted_before = evicted_,
      .clock_steps = clock_steps_,
      .clock_offset = ClockOffset(found->marker),
      .older_data = older_data_,
      .ceiling_wanted = InQuarantine() ? ceiling_wanted_ : Millis(0),
      .may_improve = may_improve == MayImprove::kYes,
      .now = {reply->items[0].integer},
      .token_floor = {token_floor_.value()}};
  isolation_ = std::max(isolation_, sighting.life.isolation);
  sighting.life.isolation = isolation_;
  if (sighting.known) sighting.known->beat.count = beats;
  sighting.unreadable = !sighting.seen && !raw.empty();
  if (!known_ && raw.empty()) return AskWhetherNew(route, std::move(sighting));
  if (IsRestarted(sighting)) return AskForLastLease(route, std::move(sighting), raw);
  Decide(route, sighting, raw);
}

// Whether the server was restarted since it confirmed the last lease, and no beat came between the
// two. A log loses its end first, so a later beat would prove that the lease is there.
bool NodeGuard::IsRestarted(const Sighting& s) const {
  return s.known && s.seen && s.seen->marker.epoch == s.known->marker.epoch &&
         s.seen->marker.run_id != s.life.run_id && clock_steps_.count == 0 &&
         last_lease_.IsWanted(s.seen->beat.at, s.now);
}

void NodeGuard::AskForLastLease(Route route, Sighting sighting, std::string raw) {
  node_.Send(route, last_lease_.Ask(options_.keys),
             [this, alive = alive_, route, asked = last_lease_, sighting = std::move(sighting),
              raw = std::move(raw)](absl::StatusOr<Reply> reply) mutable {
               if (!*alive) return;
               if (!reply.ok() || reply->type != Reply::Type::kText) return CheckAgainSoon();
               if (!asked.IsIn(reply->text)) sighting.older_data = true;
               Decide(route, sighting, raw);
             });
}

void NodeGuard::AskWhetherNew(Route route, Sighting sighting) {
  const NodeLife life = sighting.life;
  const NodeTime now = sighting.now;
  new_store_.Ask(route, life, now,
                 [this, route, sighting = std::move(sighting)](const StoreFinding& found) mutable {
                   waiting_.clear();
                   switch (found.kind) {
                     case StoreFinding::Kind::kFailed:
                       NoteRefusal(found.refusal);
                       return CheckAgainSoon();
                     case StoreFinding::Kind::kTooEarly:
                       waiting_ =
                           "is empty: in " + text::FormatDuration(new_store_.wait()) +
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
                   Decide(route, sighting, "");
                 });
}

void NodeGuard::Decide(Route route, const Sighting& sighting, const std::string& raw) {
  if (clock_steps_.count > sighting.clock_steps.count || (older_data_ && !sighting.older_data)) {
    return CheckAgainSoon();  // Noticed since it looked.
  }
  Judgement judgement = Judge(sighting, options_.policy);
  if (judgement.kind == Judgement::Kind::kTrusted) {
    Confirm(*sighting.seen, judgement);
    return EndCheck();
  }
  const int64_t beats = sighting.seen ? sighting.seen->beat.count : 0;
  Replace(route, std::string(WithoutBeat(raw)), beats, std::move(judgement));
}

// Permits nothing meanwhile: a call on another connection could arrive before the new marker.
void NodeGuard::Replace(Route route, const std::string& expected, int64_t beats,
                        Judgement judgement, Written written) {
  trusted_ = false;
  if (!known_ || known_->marker.service_id != judgement.marker.service_id) {
    service_clock_ = node_clock_.AheadBy(-judgement.marker.clock_offset);
    service_clock_since_ = clock_.Now();
  }
  const StoreMarker marker = judgement.marker;
  const std::string text = marker.Text();
  const Instant sent = clock_.Now();
  RunMarkerScript(
      route, expected, &marker, beats,
      judgement.is_earlier_state ? Quarantine::kMayEndEarly : Quarantine::kAsLong,
      [this, route, sent, text, beats, judged = clock_steps_, judgement = std::move(judgement),
       written = std::move(written)](absl::StatusOr<Reply> reply) mutable {
        OnReplaced(route, sent, text, beats, judged, judgement, reply);
        std::move(written)(StatusOfReplacement(reply, text));
      });
}

void NodeGuard::OnReplaced(Route route, Instant sent, const std::string& text, int64_t beats,
                           ClockSteps judged, const Judgement& judgement,
                           const absl::StatusOr<Reply>& reply) {
  const std::optional<Found> found = TakeReply(route, sent, reply, text);
  if (!found || !found->marker) return CheckAgainSoon();
  const SeenMarker& seen = *found->marker;
  if (seen.beat.count < beats) older_data_ = true;
  // Another daemon was first.
  if (WithoutBeat(found->text) != text) return CheckAgainSoon();
  const bool covered = judgement.kind == Judgement::Kind::kLoss || !older_data_;
  if (clock_steps_.count > judged.count || !covered) {
    // Noticed meanwhile: the marker does not tell of that.
    known_ = seen;
    return CheckAgainSoon();
  }
  Confirm(seen, judgement);
  TellOfMarker(node_, route, options_.new_store.channel_pattern, stamp_);
  EndCheck();
}

void NodeGuard::Confirm(const SeenMarker& seen, const Judgement& judgement) {
  const bool another_epoch = known_ && seen.marker.epoch > known_->marker.epoch;
  if (!known_) service_clock_since_ = clock_.Now();
  if (!known_ || another_epoch || judgement.kind == Judgement::Kind::kLoss) {
    last_lease_ = {};
    epoch_known_at_ = clock_.Now();
  }
  known_ = seen;
  service_clock_ = node_clock_.AheadBy(-seen.marker.clock_offset);
  trusted_ = true;
  check_problem_.clear();
  waiting_.clear();
  clock_steps_ = {};
  older_data_ = false;
  evicted_ = judgement.evicted_keys;  // Not those evicted since: nobody has judged them.
  stamp_ = seen.marker.Stamp();
  epoch_ = Digits(seen.marker.epoch, marker_column::kEpoch.width());
  CarryBeats(seen.beat.count);
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
  if (roll_) NoteEpochOfRoll(seen.marker.epoch);
}

void NodeGuard::CarryBeats(int64_t count) {
  marker_ = stamp_ + " " + Digits(count, marker_column::kBeat.width());
}

void NodeGuard::RaiseCeiling(Route route) {
  if (InQuarantine()) return Check(route);  // It may have to last longer.
  if (checking_) return;
  checking_ = true;
  Judgement judgement{
      .kind = Judgement::Kind::kRewrite, .marker = known_->marker, .evicted_keys = evicted_};
  judgement.marker.ttl_ceiling = std::max(judgement.marker.ttl_ceiling, ceiling_wanted_);
  Replace(route, known_->marker.Text(), known_->beat.count, std::move(judgement));
}

// Others may have changed the marker since: then it is not replaced.
void NodeGuard::EndQuarantine(int64_t epoch, core::Done<core::EndQuarantineAnswer> done) {
  const auto answer = [&](absl::StatusOr<core::EndQuarantineAnswer> what) {
    executor_.Post([done = std::move(done), what = std::move(what)]() mutable {
      std::move(done)(std::move(what));
    });
  };
  const std::optional<Route> route = ConnectedRoute();
  if (!route || checking_ || !IsConfirmed(*route)) {
    return answer(core::Error(core::ErrorReason::kStoreUnavailable,
                              "the store is away, or is being checked: try again"));
  }
  core::EndQuarantineAnswer found{.epoch = known_->marker.epoch, .left = trust().quarantine_left};
  if (found.epoch != epoch || !InQuarantine()) return answer(found);
  found.ended = true;
  EndQuarantineNow(*route, [found, done = std::move(done)](const absl::Status& written) mutable {
    if (!written.ok()) return std::move(done)(written);
    std::move(done)(found);
  });
}

void NodeGuard::EndQuarantineNow(Route route, Written written) {
  checking_ = true;
  const NodeTime now = node_clock_.Earliest(clock_.Now());
  Judgement judgement{.kind = Judgement::Kind::kRewrite,
                      .marker = WithQuarantineEnded(known_->marker, now),
                      .evicted_keys = evicted_};
  Replace(route, known_->marker.Text(), known_->beat.count, std::move(judgement),
          std::move(written));
}

void NodeGuard::BeatLater() {
  const Millis beat_interval = IsOnRoll() ? kBeatInterval : kJoinInterval;
  beat_timer_ = executor_.After(trusted_ ? beat_interval : kRetryInterval, [this] { Beat(); });
}

std::optional<Route> NodeGuard::ConnectedRoute() const {
  const Route route = node_.AnyRoute();
  if (node_.life(route).run_id.empty()) return std::nullopt;
  return route;
}

// Calls go on meanwhile: the message may be an old one, and if it is not, scripts refuse them.
void NodeGuard::OnMarkerWritten(std::string_view stamp) {
  const std::optional<Route> route = ConnectedRoute();
  if (known_ && route && stamp != stamp_) Check(*route);
}

void NodeGuard::Beat() {
  BeatLater();
  const std::optional<Route> connected = ConnectedRoute();
  if (!connected || checking_ || beating_) return;
  const Route route = *connected;
  const NodeLife& life = node_.life(route);
  isolation_ = std::max(isolation_, life.isolation);
  if (!IsConfirmed(route) || life.durable != known_->marker.durable) {
    trusted_ = false;
    return Check(route, MayImprove::kYes);
  }
  UpdateTrust();
  beating_ = true;
  const Instant sent = clock_.Now();
  const std::string text = known_->marker.Text();
  const int64_t beats = known_->beat.count;
  RunMarkerScript(route, text, &known_->marker, beats, Quarantine::kAsLong,
                  [this, route, sent, text, beats](absl::StatusOr<Reply> reply) {
                    beating_ = false;
                    OnBeatAnswered(route, sent, text, beats, TakeReply(route, sent, reply, text));
                    if (beat_soon_) BeatSoon();
                  });
}

void NodeGuard::OnBeatAnswered(Route route, Instant sent, const std::string& text, int64_t beats,
                               const std::optional<Found>& found) {
  const SeenMarker* const seen = found && found->marker ? &*found->marker : nullptr;
  const bool as_known = seen != nullptr && WithoutBeat(found->text) == text;
  if (as_known && seen->beat.count < beats) return OnRefused(route, sent, RefusedFor::kOlderData);
  if (!trusted_) return;
  if (!found) {
    if (!check_problem_.empty()) Doubt(route);  // Another look tells whether that lasts.
    return;
  }
  if (!as_known || clock_steps_.count > 0) return Doubt(route);
  if (seen->beat.count < known_->beat.count) return;
  known_->beat = seen->beat;
  service_clock_ = node_clock_.AheadBy(-known_->marker.clock_offset);
  CarryBeats(seen->beat.count);
  if (roll_) OnBeatOfRoll(route, sent);
}

}  // namespace lockkeeper::redis
