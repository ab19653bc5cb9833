// SPDX-License-Identifier: Apache-2.0
#include "core/watched_leases.h"

#include <algorithm>

namespace lockkeeper::core {
namespace {

// A lease that has ended without a release is kept for so long: the grant that follows tells of it
// again.
constexpr Millis kKeptAfterEnd{60'000};
// After a lease's end, so that the store has seen it end, too.
constexpr Millis kEndMargin{20};
constexpr Millis kReadTimeout{1'000};
constexpr Millis kReadAgain{1'000};
// Reads of the store at a time. What is due then waits where it is: many leases may end at once.
constexpr size_t kReadsMax = 32;
constexpr Millis kReadSoon{5};
// How long the grant may be on its way from one daemon after the end has come from another one.
constexpr Millis kEarlyEndKept{5'000};
constexpr size_t kEarlyEndsMax = 10'000;

bool HasLease(LockState state) { return state == LockState::kHeld || state == LockState::kOffered; }

}  // namespace

WatchedLeases::WatchedLeases(AdminStore& admin, const Clock& clock, Executor& executor,
                             std::function<void(const LockEvent&)> tell, size_t locks_max)
    : admin_(admin),
      clock_(clock),
      executor_(executor),
      tell_(std::move(tell)),
      locks_max_(locks_max) {}

WatchedLeases::~WatchedLeases() { *alive_ = false; }

void WatchedLeases::Take(LockEvent event) {
  switch (event.kind) {
    case LockEventKind::kGranted:
    case LockEventKind::kOffered:
    case LockEventKind::kExtended:
      return TakeLease(event);
    case LockEventKind::kReleased:
    case LockEventKind::kForced:
    case LockEventKind::kTakenBack:
      return TakeEnd(event);
    default:
      tell_(event);
  }
}

void WatchedLeases::TakeLease(LockEvent& event) {
  std::optional<LockEvent> end = EarlyEndOf(event);
  event.kind == LockEventKind::kExtended ? TakeExtend(event) : TakeGrant(event);
  if (end) TakeEnd(*end);
}

void WatchedLeases::TakeGrant(LockEvent& event) {
  Lock* const found = FindOrAdd(event.name);
  if (found == nullptr) return tell_(event);
  Lock& lock = *found;
  if (event.token < lock.newest.token) return tell_(event);
  if (event.token > lock.newest.token) {
    if (event.previous_lease_expired) TellPreviousExpired(lock);
    Replace(lock, event);
  } else {
    if (event.previous_lease_expired && lock.former.token.value != 0)
      TellExpired(event.name, lock.former);
    Complete(event, lock.newest);
    lock.newest.number = event.lease;
    lock.newest.owner = event.owner;
    lock.newest.principal = event.principal;
    if (event.kind == LockEventKind::kGranted) lock.newest.is_offer = false;
  }
  Prolong(lock, event.remaining);
  tell_(event);
}

void WatchedLeases::TakeExtend(LockEvent& event) {
  Lock* const found = FindOrAdd(event.name);
  if (found == nullptr) return tell_(event);
  Lock& lock = *found;
  if (event.token < lock.newest.token) return tell_(event);
  const bool is_new = event.token > lock.newest.token;
  if (!is_new && lock.newest.is_offer) event.waited = lock.newest.waited;
  // The first extend of an offer claims it. One of an unknown lease of a known lock does, too.
  if (is_new ? lock.newest.token.value != 0 : lock.newest.is_offer) {
    event.kind = LockEventKind::kGranted;
    if (is_new && event.previous_lease_expired) TellPreviousExpired(lock);
  }
  if (is_new) {
    Replace(lock, event);
  } else {
    Complete(event, lock.newest);
    lock.newest.number = event.lease;
    lock.newest.is_offer = false;
  }
  Prolong(lock, event.remaining);
  tell_(event);
}

void WatchedLeases::TakeEnd(LockEvent& event) {
  const auto found = locks_.find(event.name);
  if (found == locks_.end()) {
    KeepEarlyEnd(event);
    return tell_(event);
  }
  Lock& lock = found->second;
  const auto is_of = [&](const Lease& lease) {
    if (lease.token.value == 0) return false;
    return event.kind == LockEventKind::kForced ? event.token > lease.token
                                                : event.lease == lease.number;
  };
  if (is_of(lock.newest)) {
    if (lock.newest.is_offer) KeepEarlyEnd(event);  // Its claim has not come.
    Complete(event, lock.newest);
    event.kind == LockEventKind::kReleased ? Forget(found) : KeepEnded(lock);
  } else if (is_of(lock.former)) {
    Complete(event, lock.former);
    lock.former.has_ended = true;
  } else if (is_of(lock.lapsed)) {
    Complete(event, lock.lapsed);
  } else {
    KeepEarlyEnd(event);
  }
  tell_(event);
}

// Of a release only: after another end the same lease id may be granted again.
void WatchedLeases::KeepEarlyEnd(const LockEvent& event) {
  if (event.kind != LockEventKind::kReleased || event.token.value != 0) return;
  ForgetEarlyEnds();
  const auto [key, is_new] = early_ends_.emplace(event.lease, event.name);
  if (is_new) early_ends_by_age_.emplace_back(clock_.Now() + kEarlyEndKept, *key);
}

void WatchedLeases::ForgetEarlyEnds() {
  while (!early_ends_by_age_.empty() && (early_ends_by_age_.size() >= kEarlyEndsMax ||
                                         early_ends_by_age_.front().first <= clock_.Now())) {
    early_ends_.erase(early_ends_by_age_.front().second);
    early_ends_by_age_.pop_front();
  }
}

// The release of the lease that the event tells of, if it came before.
std::optional<LockEvent> WatchedLeases::EarlyEndOf(const LockEvent& event) {
  if (early_ends_.empty()) return std::nullopt;
  ForgetEarlyEnds();
  if (!early_ends_.contains({event.lease, event.name})) return std::nullopt;
  return LockEvent{.kind = LockEventKind::kReleased,
                   .name = event.name,
                   .token = event.token,
                   .owner = event.owner,
                   .principal = event.principal,
                   .lease = event.lease};
}

void WatchedLeases::KeepEnded(Lock& lock) {
  lock.newest.has_ended = true;
  LookAt(lock, std::max(lock.newest.end, clock_.Now()) + kKeptAfterEnd);
}

void WatchedLeases::Learn(const LockInfo& info) {
  if (!HasLease(info.state)) return;
  Lock* const found = FindOrAdd(info.name);
  if (found == nullptr || found->newest.token > info.token) return;
  if (found->newest.token == info.token) {
    if (info.state == LockState::kHeld) found->newest.is_offer = false;  // Its claim was missed.
  } else {
    Supersede(*found, {.token = info.token,
                       .number = info.lease,
                       .owner = info.owner,
                       .principal = info.principal,
                       .is_offer = info.state == LockState::kOffered});
  }
  Prolong(*found, info.remaining_ttl);
}

// What the event does not say itself.
void WatchedLeases::Complete(LockEvent& event, const Lease& lease) const {
  if (event.token.value == 0) event.token = lease.token;
  if (event.owner.empty()) event.owner = lease.owner;
  if (event.principal.empty()) event.principal = lease.principal;
}

// Of a lease that is not known, all that can be told is that one has expired.
void WatchedLeases::TellExpired(const std::string& name, Lease& lease) {
  if (lease.has_ended) return;
  lease.has_ended = true;
  tell_({.kind = LockEventKind::kExpired,
         .name = name,
         .token = lease.token,
         .owner = lease.owner,
         .principal = lease.principal});
}

// An offer that lapsed was no lease: what expired is the lease before it, and if that is not known
// it had expired before.
void WatchedLeases::TellPreviousExpired(Lock& lock) {
  if (!lock.newest.is_offer) {
    TellExpired(*lock.name, lock.newest);
  } else if (lock.former.token.value != 0) {
    TellExpired(*lock.name, lock.former);
  }
}

void WatchedLeases::Replace(Lock& lock, const LockEvent& event) {
  Supersede(lock, {.token = event.token,
                   .number = event.lease,
                   .owner = event.owner,
                   .principal = event.principal,
                   .waited = event.waited,
                   .is_offer = event.kind == LockEventKind::kOffered});
}

void WatchedLeases::Supersede(Lock& lock, Lease next) {
  Lease before = std::exchange(lock.newest, std::move(next));
  (before.is_offer ? lock.lapsed : lock.former) = std::move(before);
}

void WatchedLeases::Prolong(Lock& lock, Micros remaining) {
  Lease& lease = lock.newest;
  lease.end = std::max(lease.end, clock_.Now() + remaining + kEndMargin);
  // It lives: a Redis that had lost it has got it back.
  const bool is_back = std::exchange(lease.has_ended, false);
  // A later end is looked up when it is due.
  if (is_back || lock.due > lease.end) LookAt(lock, lease.end);
}

WatchedLeases::Lock* WatchedLeases::FindOrAdd(const std::string& name) {
  if (locks_.size() >= locks_max_) {
    const auto found = locks_.find(name);
    return found != locks_.end() ? &found->second : nullptr;
  }
  const auto [lock, is_new] = locks_.try_emplace(name);
  if (is_new) lock->second.name = &lock->first;
  return &lock->second;
}

void WatchedLeases::LookAt(Lock& lock, Instant due) {
  if (lock.is_looked_at()) by_due_.Remove(lock);
  lock.due = due;
  by_due_.Add(lock);
  SetTimer();
}

void WatchedLeases::Forget(Locks::iterator lock) {
  if (lock->second.is_looked_at()) by_due_.Remove(lock->second);
  locks_.erase(lock);
}

void WatchedLeases::KeepOnly(const WatchFilters& filters) {
  for (auto lock = locks_.begin(); lock != locks_.end();) {
    const auto next = std::next(lock);
    if (!Matches(filters, lock->first)) Forget(lock);
    lock = next;
  }
}

void WatchedLeases::SetTimer() {
  if (by_due_.empty()) return;
  const Instant at = std::max(by_due_.First().due, look_from_);
  if (at >= timer_at_) return;
  timer_at_ = at;
  const auto left = std::chrono::ceil<Micros>(timer_at_ - clock_.Now());
  timer_ = executor_.After(std::max(left, Micros(0)), [this] { OnTimer(); });
}

void WatchedLeases::OnTimer() {
  timer_at_ = Instant::max();
  const Instant now = clock_.Now();
  while (!by_due_.empty() && by_due_.First().due <= now) {
    if (reads_ >= kReadsMax) {
      look_from_ = now + kReadSoon;
      break;
    }
    Look(by_due_.First());
  }
  SetTimer();
}

void WatchedLeases::Look(Lock& lock) {
  const Lease& lease = lock.newest;
  const Instant now = clock_.Now();
  if (lease.has_ended) return Forget(locks_.find(*lock.name));
  if (lease.end > now) return LookAt(lock, lease.end);
  LookAt(lock, now + kReadTimeout + kReadAgain);  // If there is no answer.
  Read(lock);
}

void WatchedLeases::Read(Lock& lock) {
  ++reads_;
  admin_.Get(*lock.name, clock_.Now() + kReadTimeout,
             [this, alive = alive_, name = *lock.name,
              token = lock.newest.token](absl::StatusOr<std::optional<LockInfo>> read) {
               if (*alive) OnRead(name, token, read);
             });
}

void WatchedLeases::OnRead(const std::string& name, FencingToken token,
                           const absl::StatusOr<std::optional<LockInfo>>& read) {
  --reads_;
  const auto found = locks_.find(name);
  // What is no answer is asked again.
  if (found == locks_.end() || found->second.newest.token != token || !read.ok()) return;
  Lock& lock = found->second;
  const LockInfo* const info = read->has_value() ? &**read : nullptr;
  if (lock.newest.has_ended) return;
  if (info != nullptr && info->state == LockState::kUnproven) return;
  if (info == nullptr || info->token < token) return OnForgotten(lock);
  if (!HasLease(info->state)) return OnEnded(lock, *info);
  info->token == token ? OnLive(lock, *info) : Learn(*info);
}

void WatchedLeases::OnLive(Lock& lock, const LockInfo& info) {
  Lease& lease = lock.newest;
  lease.end = clock_.Now() + info.remaining_ttl + kEndMargin;
  LookAt(lock, lease.end);
  if (info.state != LockState::kHeld || !std::exchange(lease.is_offer, false)) return;
  // The claim of the offer was missed.
  LockEvent event = OfNewest(LockEventKind::kGranted, lock);
  event.remaining = info.remaining_ttl;
  event.waited = lease.waited;
  tell_(event);
}

// Ends are told by who did it, unless it had no answer. An offer that lapsed was no lease.
void WatchedLeases::OnEnded(Lock& lock, const LockInfo& info) {
  Lease& lease = lock.newest;
  if (lease.is_offer) return KeepEnded(lock);
  const bool is_newest = info.token == lease.token;
  if (is_newest && info.last_end == LeaseEnd::kExpired) {
    TellExpired(*lock.name, lease);
  } else if (is_newest && info.last_end == LeaseEnd::kReleased) {
    tell_(OfNewest(LockEventKind::kReleased, lock));
  } else if (is_newest && info.last_end == LeaseEnd::kWithdrawn) {
    tell_(OfNewest(LockEventKind::kTakenBack, lock));
  } else if (info.token > lease.token && info.last_end == LeaseEnd::kForced) {
    LockEvent event = OfNewest(LockEventKind::kForced, lock);
    event.token = info.token;
    event.remaining = info.closed_for;
    tell_(event);
  } else if (info.token > lease.token && !std::exchange(lease.is_behind, true)) {
    return LookAt(lock, clock_.Now() + kReadAgain);  // The news may be on its way.
  } else if (info.token > lease.token) {
    TellGap(lock);
  }
  KeepEnded(lock);
}

// It ended long ago, or its holder will prove it.
void WatchedLeases::OnForgotten(Lock& lock) {
  if (!lock.newest.is_offer) TellGap(lock);
  KeepEnded(lock);
}

void WatchedLeases::TellGap(const Lock& lock) {
  tell_({.kind = LockEventKind::kGap, .name = *lock.name, .gap = GapReason::kMessagesLost});
}

LockEvent WatchedLeases::OfNewest(LockEventKind kind, const Lock& lock) {
  const Lease& lease = lock.newest;
  return {.kind = kind,
          .name = *lock.name,
          .token = lease.token,
          .owner = lease.owner,
          .principal = lease.principal};
}

}  // namespace lockkeeper::core
