// SPDX-License-Identifier: Apache-2.0
#include "redis/guard/loss_judge.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace lockkeeper::redis {
namespace {

using core::Micros;
using core::Millis;
using core::NodeTime;

// Until a lease asks for more. One of 30 s, the default, is then quarantined for as long.
constexpr Millis kFirstCeiling{0};

// The embedded server dies with its daemon, which writes a beat each second.
constexpr Micros kHomeChangeAfterBeat = std::chrono::seconds(5);

// While the clock is behind the tokens, each grant raises them by one, and other daemons have
// granted some that nobody here has seen. As many as this are passed over.
constexpr int64_t kTokensUnseen = 100'000'000;

// Unless the clock was set back, the token floor of a daemon is at most this far ahead of the
// clock: replies come in any order, and a clock that is learned anew is known only as exactly as
// its reply was fast.
constexpr Millis kFloorsAhead{1'100};

// Clocks of two servers of a Cluster differ by less, or the difference counts as a step.
constexpr Micros kClocksApartMax = std::chrono::seconds(2);

// The least quarantine. Another daemon may have granted longer leases than this one knows of.
// Within this time it notices the loss too, and lengthens the quarantine.
constexpr Millis kPeerNoticeTime{1'500};

NodeTime After(NodeTime time, Millis delay) {
  return {time.micros + std::chrono::duration_cast<Micros>(delay).count()};
}

// For how long nothing new is granted after a loss. A server that was replaced may have granted
// leases for as long as `isolation` after that.
Millis QuarantineAfterLoss(Millis ceiling, Millis isolation) {
  return std::max(QuarantineOf(ceiling), kPeerNoticeTime) + isolation;
}

// For how long a server that was replaced may go on. Not if this one is known already, and has
// outlasted the one before.
Millis IsolationOf(const Sighting& s) {
  if (!s.known || s.known->marker.run_id != s.life.run_id) return s.life.isolation;
  const StoreMarker& known = s.known->marker;
  const Micros set_since = s.clock_offset - known.clock_offset;
  const bool is_over = s.now.micros - set_since.count() >= IsolationEnd(known).micros;
  return is_over ? Millis(0) : s.life.isolation;
}

// A counter that is lower than before was set to 0 since: by a restart, or by CONFIG RESETSTAT.
bool HasEvictedSince(const Sighting& s) {
  const bool goes_on =
      s.life.run_id == s.known->marker.run_id && s.life.evicted_keys >= s.evicted_before;
  return s.life.evicted_keys > (goes_on ? s.evicted_before : 0);
}

// Whether its end is later than that of any quarantine that could have begun by now. Then the clock
// was set back since.
bool QuarantineEndsTooLate(const Sighting& s) {
  // Another daemon may have seen a server with a longer isolation.
  const Millis isolation_max = s.life.isolation > Millis(0) ? kIsolationMax : Millis(0);
  return s.seen->marker.quarantine_end >
         After(s.now, QuarantineAfterLoss(s.seen->marker.ttl_ceiling, isolation_max));
}

std::optional<LossKind> LossSince(const Sighting& s) {
  if (s.unreadable) return LossKind::kUnreadable;
  if (!s.seen) {
    if (s.known) return LossKind::kEmptied;
    return s.records;
  }
  if (QuarantineEndsTooLate(s)) return LossKind::kClockStep;
  if (!s.known) return std::nullopt;
  const StoreMarker& known = s.known->marker;
  const StoreMarker& seen = s.seen->marker;
  if (seen.service_id != known.service_id) return LossKind::kAnotherStore;
  if (seen.epoch > known.epoch) {
    const bool is_told = s.clock_steps.count == 0 || s.clock_steps.epoch < seen.epoch;
    return is_told ? std::nullopt : std::optional(LossKind::kClockStep);
  }
  if (seen.epoch < known.epoch || s.seen->beat.count < s.known->beat.count ||
      seen.ttl_ceiling < known.ttl_ceiling) {
    return LossKind::kOlderData;
  }
  if (s.clock_steps.count > 0) return LossKind::kClockStep;
  if (HasEvictedSince(s)) return LossKind::kEvicted;
  // Last: a lease that is missing after a restart may have been evicted.
  return s.older_data ? std::optional(LossKind::kOlderData) : std::nullopt;
}

// Whether a Cluster has moved the keys here since the last beat. A replica that was made a primary
// has them too, but may lack some of them.
bool WasMovedHere(const Sighting& s) {
  const int64_t since = s.life.primary_since.micros;
  return s.from_living_primary && since > 0 &&
         since + kClocksApartMax.count() < s.seen->beat.at.micros;
}

// Whether this start of the server may have lost something, if nothing else contradicts the marker.
std::optional<LossKind> LossByRestart(const Sighting& s, const JudgePolicy& policy) {
  const StoreMarker& seen = s.seen->marker;
  if (seen.run_id == s.life.run_id || WasMovedHere(s)) return std::nullopt;
  if (s.life.evicted_keys > 0) return LossKind::kEvicted;  // Nobody has seen this start yet.
  const bool proved = seen.durable && s.life.durable;
  if (!proved && !policy.assume_durable) {
    return s.life.promoted ? LossKind::kPromoted : LossKind::kRestarted;
  }
  const bool is_home = seen.home == policy.home;
  // An embedded server reads the wall clock of this machine.
  const bool touched =
      policy.home_changed.micros > s.seen->beat.at.micros + kHomeChangeAfterBeat.count();
  if (!s.known && (!is_home || touched)) return LossKind::kDataTouched;
  return std::nullopt;
}

// Whether the marker is of another service, and this daemon gives up its own id and key for those
// in the marker. One of two daemons that disagree must, or each would take the other's marker for a
// loss, for ever. It is the one whose epoch is behind; without a quarantine, where epochs do not
// rise, it is either.
bool IsToBeFollowed(const Sighting& s, const JudgePolicy& policy) {
  if (!s.seen || s.seen->marker.service_id == s.known->marker.service_id) return false;
  return s.seen->marker.epoch > s.known->marker.epoch || policy.quarantine == QuarantineMode::kOff;
}

// Whether tokens may have been granted that the clock has not reached at `when`.
bool IsAhead(core::FencingToken floor, NodeTime when) {
  return floor.value > After(when, -kFloorsAhead).micros;
}

// New leases are granted from `when` on.
void PassOverUnseenTokens(NodeTime when, StoreMarker& marker) {
  if (IsAhead(marker.token_floor, when)) marker.token_floor.value += kTokensUnseen;
}

// The daemon that has noticed a loss may have missed the last marker before it, with tokens that
// the clock will not have reached when new leases are granted. Others grant nothing before they
// know.
void RestoreTokenFloor(const Sighting& s, const JudgePolicy& policy, StoreMarker& marker) {
  if (!s.known || s.seen->marker.token_floor >= s.known->marker.token_floor) return;
  const NodeTime grants_from = std::max(s.now, marker.quarantine_end);
  if (!IsAhead(s.known->marker.token_floor, grants_from)) return;
  PassOverUnseenTokens(grants_from, marker);
  if (policy.quarantine == QuarantineMode::kOff) return;
  marker.quarantine_end = std::max(marker.quarantine_end, After(s.now, kPeerNoticeTime));
}

// A point on the node's clock, as service time.
int64_t ServiceMicros(NodeTime time, Micros clock_offset) {
  return time.micros - clock_offset.count();
}

// Whether a quarantine may still have run, in which not all had been restored.
bool WasInQuarantine(const Sighting& s, const StoreMarker& marker) {
  const int64_t end = ServiceMicros(marker.quarantine_end, marker.clock_offset);
  return end + kClocksApartMax.count() > ServiceMicros(s.now, s.clock_offset);
}

bool IsEarlierState(const Sighting& s, LossKind loss) {
  const bool is_older = loss == LossKind::kPromoted || loss == LossKind::kOlderData;
  if (!is_older || !s.known || !s.seen || !s.life.promoted || HasEvictedSince(s)) return false;
  if (s.seen->marker.epoch != s.known->marker.epoch) return false;
  return s.known->marker.run_id != s.life.run_id && !WasInQuarantine(s, s.seen->marker) &&
         !WasInQuarantine(s, s.known->marker);
}

StoreMarker AfterLoss(const Sighting& s, const JudgePolicy& policy) {
  StoreMarker marker;
  const auto take = [&marker](const StoreMarker& from) {
    marker.service_id = from.service_id;
    marker.reassertion_key = from.reassertion_key;
    marker.clock_offset = from.clock_offset;
    marker.epoch = std::max(marker.epoch, from.epoch);
    marker.ttl_ceiling = std::max(marker.ttl_ceiling, from.ttl_ceiling);
    marker.token_floor = std::max(marker.token_floor, from.token_floor);
  };
  if (s.seen) take(s.seen->marker);
  if (s.known) {
    take(s.known->marker);  // Last, so that its key and its id stay.
    marker.clock_offset = s.clock_offset;
    if (IsToBeFollowed(s, policy)) {
      marker.service_id = s.seen->marker.service_id;
      marker.reassertion_key = s.seen->marker.reassertion_key;
      marker.clock_offset = s.seen->marker.clock_offset;
    }
  } else {
    // Nobody here knows what was granted last.
    marker.ttl_ceiling = std::max(marker.ttl_ceiling, policy.ceiling_max);
  }
  marker.token_floor = std::max(marker.token_floor, s.token_floor);
  // When the quarantine is over, the clock is beyond all tokens, unless it was set back further.
  // But a server that was replaced goes on with its own clock, as long as it grants.
  const Millis isolation = IsolationOf(s);
  const Millis quarantine = policy.quarantine == QuarantineMode::kOff
                                ? kFloorsAhead
                                : QuarantineAfterLoss(marker.ttl_ceiling, isolation);
  PassOverUnseenTokens(After(s.now, quarantine - isolation), marker);
  if (marker.service_id.empty()) {
    marker.service_id = policy.new_service_id;
    marker.reassertion_key = policy.new_reassertion_key;
  }
  if (policy.quarantine == QuarantineMode::kOff && marker.epoch > 0) return marker;
  ++marker.epoch;
  marker.quarantine_end = After(s.now, quarantine);
  if (policy.quarantine == QuarantineMode::kOff) marker.quarantine_end = {};
  return marker;
}

StoreMarker OfFirstUse(const Sighting& s, const JudgePolicy& policy) {
  StoreMarker marker{.service_id = policy.new_service_id,
                     .epoch = 1,
                     .ttl_ceiling = kFirstCeiling,
                     .reassertion_key = policy.new_reassertion_key};
  if (policy.first_use == FirstUse::kQuarantine) {
    marker.ttl_ceiling = policy.ceiling_max;
    marker.quarantine_end = After(s.now, QuarantineOf(marker.ttl_ceiling));
  }
  return marker;
}

}  // namespace

std::string_view NameOf(LossKind kind) {
  switch (kind) {
    case LossKind::kEmptied:
      return "emptied";
    case LossKind::kUnreadable:
      return "marker_unreadable";
    case LossKind::kOlderData:
      return "older_data";
    case LossKind::kAnotherStore:
      return "another_store";
    case LossKind::kRestarted:
      return "restarted";
    case LossKind::kPromoted:
      return "promoted";
    case LossKind::kDataTouched:
      return "data_touched";
    case LossKind::kClockStep:
      return "clock_step";
    case LossKind::kEvicted:
      return "evicted";
    case LossKind::kRecordsFirst:
      return "marker_missing";
    case LossKind::kNotSearched:
      return "not_searched";
  }
  return "unknown";
}

std::string_view ExplanationOf(LossKind kind) {
  switch (kind) {
    case LossKind::kEmptied:
      return "Redis was emptied (FLUSHALL, FLUSHDB, or started without its data): find out by "
             "whom; "
             "`appendonly yes` keeps the data over a restart";
    case LossKind::kUnreadable:
      return "something else was written over the marker of the store: give this service a Redis "
             "or "
             "a store.key_prefix of its own";
    case LossKind::kOlderData:
      return "Redis has older data than it had: a snapshot was restored, or writes were lost, "
             "which "
             "`appendfsync always` prevents";
    case LossKind::kAnotherStore:
      return "Redis has the data of another store: is it still the right server, and the right "
             "store.redis";
    case LossKind::kRestarted:
      return "Redis was restarted without proof that it kept every write: set "
             "`appendonly yes`, `appendfsync always` and `no-appendfsync-on-rewrite no`";
    case LossKind::kPromoted:
      return "a replica of Redis became the primary, and may not have had all its writes: find out "
             "why the primary before failed; after a planned failover there is nothing to do but "
             "to wait";
    case LossKind::kDataTouched:
      return "the data folder of the embedded store is a copy, or was changed while it was down: "
             "if "
             "that was meant, there is nothing to do but to wait";
    case LossKind::kClockStep:
      return "the clock of Redis was set: let it be slewed only";
    case LossKind::kEvicted:
      return "Redis has evicted keys: set `maxmemory-policy noeviction`";
    case LossKind::kRecordsFirst:
      return "Redis has records of locks, but the marker of the store is missing: was it deleted, "
             "or "
             "did an older lockkeeperd make them";
    case LossKind::kNotSearched:
      return "Redis has more than 1,000,000 keys and no marker of this service: not all were "
             "searched for records of locks, so there may be leases. If no lockkeeperd has used it "
             "before there are none; this wait comes only once, and with a Redis of its own never";
  }
  return "";
}

StoreMarker WithQuarantineEnded(StoreMarker marker, NodeTime now) {
  PassOverUnseenTokens(now, marker);
  // Numbers in lines begin at the end of a quarantine, and never below the token floor. Those who
  // stood in a line that was lost keep theirs, and whoever comes now stands behind them.
  marker.token_floor.value = std::max(marker.token_floor.value, marker.quarantine_end.micros);
  marker.quarantine_end = now;
  return marker;
}

NodeTime IsolationEnd(const StoreMarker& marker) {
  return After(marker.quarantine_end, -QuarantineAfterLoss(marker.ttl_ceiling, Millis(0)));
}

Millis QuarantineOf(Millis ceiling) {
  constexpr int64_t kSlowClockPercent = 1;
  return ceiling + Millis(ceiling.count() * kSlowClockPercent / 100 + 1);
}

Judgement Judge(const Sighting& s, const JudgePolicy& policy) {
  Judgement judgement{.evicted_keys = s.life.evicted_keys};
  std::optional<LossKind> loss = LossSince(s);
  if (!loss && s.seen) loss = LossByRestart(s, policy);
  const bool is_restarted = s.seen && s.seen->marker.run_id != s.life.run_id;
  // The clock of another machine is another one.
  if (loss == LossKind::kClockStep && is_restarted && s.life.promoted) loss = LossKind::kPromoted;
  if (loss) {
    judgement.kind = Judgement::Kind::kLoss;
    judgement.loss = *loss;
    judgement.is_earlier_state = IsEarlierState(s, *loss);
    judgement.marker = AfterLoss(s, policy);
  } else if (!s.seen) {
    judgement.kind = Judgement::Kind::kFirstUse;
    judgement.marker = OfFirstUse(s, policy);
  } else {
    judgement.marker = s.seen->marker;
    // Nothing is lost, but the server before may still grant what this one does not know of.
    if (is_restarted && !WasMovedHere(s) && s.life.isolation > Millis(0) &&
        policy.quarantine == QuarantineMode::kOn) {
      judgement.marker.quarantine_end =
          std::max(judgement.marker.quarantine_end, After(s.now, s.life.isolation));
    }
  }
  StoreMarker& marker = judgement.marker;
  marker.run_id = s.life.run_id;
  marker.durable = s.life.durable;
  marker.home = policy.home;
  marker.token_floor = std::max(marker.token_floor, s.token_floor);
  if (judgement.kind != Judgement::Kind::kTrusted) return judgement;
  // Another daemon noticed a loss, and did not know how long this one's leases are; or nobody knew
  // how long those are that holders prove. There may be others like them.
  const Millis ceiling =
      std::max(s.ceiling_wanted, s.known ? s.known->marker.ttl_ceiling : Millis(0));
  if (ceiling > marker.ttl_ceiling) {
    marker.ttl_ceiling = ceiling;
    marker.quarantine_end = std::max(
        marker.quarantine_end, After(s.now, QuarantineOf(marker.ttl_ceiling) + s.life.isolation));
  }
  if (marker.run_id == s.seen->marker.run_id && !s.may_improve) {
    marker.durable = marker.durable && s.seen->marker.durable;
    marker.home = s.seen->marker.home;  // A server stays where it was started.
  }
  StoreMarker as_seen = s.seen->marker;
  as_seen.token_floor = marker.token_floor;  // It rises all the time: no reason to write.
  RestoreTokenFloor(s, policy, marker);
  if (!(as_seen == marker)) {
    judgement.kind = Judgement::Kind::kRewrite;
  } else {
    marker.token_floor = s.seen->marker.token_floor;
  }
  return judgement;
}

}  // namespace lockkeeper::redis
