// SPDX-License-Identifier: Apache-2.0
#include "support/memory_store.h"

#include <algorithm>
#include <chrono>
#include <sstream>
#include <utility>

#include "core/errors.h"
#include "core/limits.h"
#include "core/lock_event.h"

namespace lockkeeper::support {

using core::AcquireRequest;
using core::ErrorReason;
using core::Lease;
using core::LeaseEnd;
using core::Micros;
using core::NodeTime;
using core::NotReleasedReason;
using core::WithdrawResult;

namespace {

// Some day in 2025. Odd microseconds, so that rounding shows.
constexpr int64_t kBegin = 1'760'000'000'123'457;

NodeTime operator+(NodeTime time, Micros by) { return {time.micros + by.count()}; }
Micros operator-(NodeTime a, NodeTime b) { return Micros(a.micros - b.micros); }

NodeTime HoldEnd(const MemoryServer::Record& record) {
  const core::Millis hold = record.last.hold_at_least;
  return hold > core::Millis(0) ? record.acquired + hold : NodeTime{};
}

// The attempts up to `attempt` are void; what is void for good stays that.
void VoidAttempts(MemoryServer::Record& record, const core::LeaseId& lease_id, int32_t attempt) {
  MemoryServer::VoidEntry& entry = record.voids[lease_id];
  if (entry.kind == MemoryServer::Void::kAttempts) entry.attempt = std::max(entry.attempt, attempt);
}

}  // namespace

NodeTime MemoryServer::Now() const {
  const auto since = std::chrono::duration_cast<Micros>(clock_.Now().time_since_epoch());
  return NodeTime{kBegin} + since + offset_;
}

// A token ahead of the clock keeps its record: it is what keeps tokens rising.
MemoryServer::Record* MemoryServer::Find(const std::string& name) {
  const auto found = records_.find(name);
  if (found == records_.end()) return nullptr;
  Record& record = found->second;
  if (Now() <= record.kept_until || Now().micros < record.token.value) return &record;
  records_.erase(found);
  return nullptr;
}

MemoryServer::Record& MemoryServer::Touch(const std::string& name) {
  Find(name);
  Record& record = records_[name];
  record.kept_until = std::max({Now(), record.lease_end, record.closed_until}) + Micros(retention_);
  return record;
}

int64_t MemoryServer::RecordsKept() {
  std::erase_if(records_, [this](const auto& entry) {
    return Now() > entry.second.kept_until && Now().micros >= entry.second.token.value;
  });
  return static_cast<int64_t>(records_.size());
}

std::string MemoryServer::Describe(const std::string& name) {
  const Record* const record = Find(name);
  if (record == nullptr) return "";
  std::ostringstream text;
  text << record->last.lease_id.digits() << ' ' << record->last.attempt << ' '
       << record->last.keeper.digits() << ' ' << record->token.value << ' '
       << record->lease_end.micros << ' ' << record->closed_until.micros << ' '
       << static_cast<int>(record->end) << ' ' << record->previous_expired << ' '
       << record->kept_until.micros;
  for (const auto& [lease_id, entry] : record->voids) {
    text << ' ' << lease_id.digits() << static_cast<int>(entry.kind) << entry.attempt;
  }
  return text.str();
}

bool MemoryServer::IsLive(const Record& record) const {
  return record.token.value > 0 && record.end == LeaseEnd::kNone && Now() < record.lease_end;
}

core::FencingToken MemoryServer::NextToken(const Record* record, core::FencingToken seen) const {
  const int64_t last = record == nullptr ? 0 : record->token.value;
  return {std::max({last + 1, Now().micros, seen.value + 1})};
}

Lease MemoryServer::LeaseOf(const Record& record) const {
  Lease lease;
  lease.name = record.last.name;
  lease.lease_id = record.last.lease_id;
  lease.token = record.token;
  lease.ttl = record.last.ttl;
  lease.remaining_ttl = record.lease_end - Now();
  lease.lease_end = record.lease_end;
  lease.previous_lease_expired = record.previous_expired;
  lease.assurance = core::Assurance::kMemory;
  return lease;
}

absl::StatusOr<core::AcquireAnswer> MemoryServer::Acquire(const AcquireRequest& request,
                                                          core::FencingToken seen) {
  if (request.min_assurance > core::Assurance::kMemory) {
    return core::Error(ErrorReason::kAssuranceNotReached, "this store is in memory");
  }
  const absl::Status ended = core::Error(ErrorReason::kLeaseEnded, "the lease id is used up");
  Record* const record = Find(request.name);
  if (record != nullptr) {
    const auto known = record->voids.find(request.lease_id);
    if (known != record->voids.end() &&
        (known->second.kind != Void::kAttempts || request.attempt <= known->second.attempt)) {
      return ended;
    }
    AcquireRequest& last = record->last;
    if (record->token.value > 0 && record->end == LeaseEnd::kNone &&
        last.lease_id == request.lease_id) {
      if (!IsLive(*record) || last.principal != request.principal) return ended;
      const bool is_adopted =
          last.keeper.digits().substr(0, 16) == core::Keeper::OfHolder(0).digits().substr(0, 16);
      if (!is_adopted && request.attempt > last.attempt) {
        last.keeper = request.keeper;
        last.attempt = request.attempt;
      } else if (!is_adopted && request.attempt == last.attempt && request.keeper != last.keeper) {
        last.keeper = core::Keeper();  // Two calls that cannot be told apart:
                                       // neither cleans up.
      }
      return LeaseOf(*record);
    }
    if (Now() < record->closed_until) {
      core::Contention contention;
      contention.remaining_ttl = record->closed_until - Now();
      if (IsLive(*record)) contention.holder_owner = last.owner;
      if (!IsLive(*record)) contention.reason = core::ContentionReason::kClosed;
      return contention;
    }
  }
  const core::FencingToken token = NextToken(record, seen);
  if (token.value > core::limits::kTokenMax) {
    return core::Error(ErrorReason::kStoreCorrupt, "there is no higher token");
  }
  return Grant(request, token);
}

Lease MemoryServer::Grant(const AcquireRequest& request, core::FencingToken token) {
  const NodeTime now = Now();
  Record& record = Touch(request.name);
  const bool is_first = record.token.value == 0;
  if (!is_first && record.end == LeaseEnd::kNone) {
    record.voids[record.last.lease_id] = {Void::kExpired};
    record.end = LeaseEnd::kExpired;
  }
  // A grant that was withdrawn leaves what was to be said of the lease before it.
  const bool expired = record.end == LeaseEnd::kExpired || record.end == LeaseEnd::kForced;
  if (record.end != LeaseEnd::kWithdrawn) record.previous_expired = expired;
  record.last = request;
  record.token = token;
  record.token_is_nobodys = false;
  record.acquired = now;
  record.end = LeaseEnd::kNone;
  record.max_hold_end =
      request.max_hold > core::Millis(0) ? now + request.max_hold : NodeTime{INT64_MAX};
  record.lease_end = std::min(now + request.ttl, record.max_hold_end);
  record.closed_until = std::max(record.lease_end + request.lock_delay, HoldEnd(record));
  return LeaseOf(Touch(request.name));
}

absl::StatusOr<Lease> MemoryServer::Extend(const core::ExtendRequest& request) {
  Record* const record = Find(request.name);
  if (record == nullptr || !IsLive(*record) || record->last.lease_id != request.lease_id ||
      record->last.principal != request.principal) {
    return core::Error(ErrorReason::kLeaseLost, "the lease has ended or was never held");
  }
  const core::Millis ttl = request.ttl > core::Millis(0) ? request.ttl : record->last.ttl;
  record->lease_end = std::max(record->lease_end, std::min(Now() + ttl, record->max_hold_end));
  record->closed_until = std::max(record->lease_end + record->last.lock_delay, HoldEnd(*record));
  if (request.keeper) record->last.keeper = *request.keeper;
  Lease lease = LeaseOf(Touch(request.name));
  lease.ttl = ttl;
  // The first extend of a client that claims.
  lease.claimed =
      std::exchange(record->last.claim, core::ClaimMode::kByDaemon) == core::ClaimMode::kByClient;
  return lease;
}

// The lock is free from now on, whatever becomes of the clock; or closed for a time yet.
void MemoryServer::End(const std::string& name, LeaseEnd how, Micros closed_for) {
  Record& record = Touch(name);
  record.end = how;
  record.closed_until = closed_for > Micros(0) ? Now() + closed_for : NodeTime{};
}

core::ReleaseAnswer MemoryServer::Release(const core::ReleaseRequest& request) {
  Record& record = Touch(request.name);
  const bool is_last = record.token.value > 0 && record.end == LeaseEnd::kNone &&
                       record.last.lease_id == request.lease_id;
  if (is_last && record.last.principal != request.principal) return {NotReleasedReason::kNotHolder};
  VoidEntry& entry = record.voids[request.lease_id];
  if (is_last && IsLive(record)) {
    entry.kind = Void::kReleased;
    const Micros held = Now() - record.acquired;
    End(request.name, LeaseEnd::kReleased, HoldEnd(record) - Now());
    return {.held = held, .token = record.token};
  } else if (is_last) {
    entry.kind = Void::kExpired;
  } else if (entry.kind == Void::kAttempts) {
    entry.kind = Void::kUnknown;
  }
  if (entry.kind == Void::kReleased) return {NotReleasedReason::kNone};
  return {entry.kind == Void::kExpired ? NotReleasedReason::kExpired
                                       : NotReleasedReason::kNotHolder};
}

WithdrawResult MemoryServer::Withdraw(const core::WithdrawRequest& request) {
  Record* const record = Find(request.name);
  const bool is_last = record != nullptr && record->token.value > 0 &&
                       record->end == LeaseEnd::kNone && record->last.lease_id == request.lease_id;
  const bool is_keeper =
      is_last && record->last.keeper == request.keeper && request.keeper != core::Keeper();
  switch (request.scope) {
    case core::WithdrawScope::kSetAside:  // There are no offers.
    case core::WithdrawScope::kPutBack:
    case core::WithdrawScope::kPassOver:
    case core::WithdrawScope::kLetClaimStand:
    case core::WithdrawScope::kClaim:
      return WithdrawResult::kKept;
    case core::WithdrawScope::kRelease: {
      if (!is_keeper || !IsLive(*record)) return WithdrawResult::kKept;
      WithdrawResult released = WithdrawResult::kWithdrawn;
      released.held = Now() - record->acquired;
      record->voids[request.lease_id] = {Void::kReleased};
      End(request.name, LeaseEnd::kReleased, HoldEnd(*record) - Now());
      return released;
    }
    case core::WithdrawScope::kUnclaimedOnly:
      if (is_keeper) return WithdrawResult::kKept;
      break;
    case core::WithdrawScope::kLeaseToo:
      if (!is_keeper) break;
      VoidAttempts(*record, request.lease_id, record->last.attempt);
      End(request.name, LeaseEnd::kWithdrawn);
      return WithdrawResult::kWithdrawn;
  }
  if (is_last && request.attempt <= record->last.attempt) return WithdrawResult::kKept;
  VoidAttempts(Touch(request.name), request.lease_id, request.attempt);
  return is_last ? WithdrawResult::kKept : WithdrawResult::kNotGranted;
}

core::FenceAnswer MemoryServer::Fence(const core::FenceRequest& request) {
  const Record* const record = Find(request.name);
  if (record == nullptr) return {};
  core::FenceAnswer answer{core::Verdict::kUnknownToken, record->token};
  if (request.token < record->token) answer.verdict = core::Verdict::kStale;
  if (request.token != record->token || record->token_is_nobodys) return answer;
  const bool counts = request.liveness == core::LeaseLiveness::kAny || IsLive(*record);
  answer.verdict = counts ? core::Verdict::kAdmitted : core::Verdict::kExpired;
  return answer;
}

std::optional<core::LockInfo> MemoryServer::Get(const std::string& name) {
  const Record* const record = Find(name);
  if (record == nullptr) return std::nullopt;
  const bool live = IsLive(*record);
  core::LockInfo info{.name = name,
                      .state = live ? core::LockState::kHeld : core::LockState::kEnded,
                      .token = record->token,
                      .owner = record->last.owner,
                      .principal = record->last.principal,
                      .labels = record->last.labels,
                      .ttl = record->last.ttl,
                      .lock_delay = record->last.lock_delay,
                      .max_hold = record->last.max_hold,
                      .hold_at_least = record->last.hold_at_least,
                      .closed_for = std::max(record->closed_until - Now(), Micros(0)),
                      .acquired = record->acquired,
                      .lease_end = record->lease_end,
                      .lease = core::LeaseNumber(record->last.lease_id)};
  if (live) info.remaining_ttl = record->lease_end - Now();
  const bool expired = !live && record->end == LeaseEnd::kNone && record->token.value > 0;
  info.last_end = expired ? LeaseEnd::kExpired : record->end;
  return info;
}

core::ForceReleaseAnswer MemoryServer::ForceRelease(const core::ForceReleaseRequest& request,
                                                    core::FencingToken seen) {
  const NodeTime now = Now();
  Record* const record = Find(request.name);
  if (record == nullptr) return {};
  const bool live = IsLive(*record);
  const bool opens = request.delay == core::ReleaseDelay::kNone;
  core::ForceReleaseAnswer answer{.token = record->token,
                                  .closed_for = std::max(record->closed_until - now, Micros(0))};
  if (!live && (!opens || answer.closed_for == Micros(0))) return answer;
  answer.released = true;
  answer.opened = !live;
  if (opens) answer.closed_for = Micros(0);
  if (live) answer.holder_owner = record->last.owner;
  if (record->end == LeaseEnd::kNone) record->voids[record->last.lease_id] = {Void::kExpired};
  answer.token = record->token = NextToken(record, seen);
  // One that was released stays that, but its token is nobody's any more.
  const bool released = record->end == LeaseEnd::kReleased;
  record->token_is_nobodys = true;
  End(request.name, released ? LeaseEnd::kReleased : LeaseEnd::kForced, answer.closed_for);
  return answer;
}

template <typename T>
void MemoryStore::AnswerLater(core::Done<T> done, absl::StatusOr<T> answer) {
  executor_.Post([done = std::move(done), answer = std::move(answer)]() mutable {
    std::move(done)(std::move(answer));
  });
}

void MemoryStore::Acquire(const AcquireRequest& request, core::Done<core::AcquireAnswer> done) {
  absl::StatusOr<core::AcquireAnswer> answer = server_.Acquire(request, seen_);
  const auto* const lease = answer.ok() ? std::get_if<Lease>(&*answer) : nullptr;
  if (lease != nullptr) seen_ = std::max(seen_, lease->token);
  AnswerLater(std::move(done), std::move(answer));
}

void MemoryStore::Extend(const core::ExtendRequest& request, core::Done<Lease> done) {
  AnswerLater(std::move(done), server_.Extend(request));
}

void MemoryStore::Release(const core::ReleaseRequest& request,
                          core::Done<core::ReleaseAnswer> done) {
  AnswerLater<core::ReleaseAnswer>(std::move(done), server_.Release(request));
}

void MemoryStore::Confirm(const std::string& /*name*/, core::Assurance /*wanted*/,
                          core::Instant /*deadline*/, core::ConfirmDone done) {
  executor_.Post([done = std::move(done)]() mutable { std::move(done)(core::Assurance::kMemory); });
}

void MemoryStore::Withdraw(const core::WithdrawRequest& request, core::Done<WithdrawResult> done) {
  AnswerLater<WithdrawResult>(std::move(done), server_.Withdraw(request));
}

void MemoryStore::Fence(const core::FenceRequest& request, core::Done<core::FenceAnswer> done) {
  AnswerLater<core::FenceAnswer>(std::move(done), server_.Fence(request));
}

void MemoryStore::Get(const std::string& name, core::Instant /*deadline*/,
                      core::Done<std::optional<core::LockInfo>> done) {
  AnswerLater<std::optional<core::LockInfo>>(std::move(done), server_.Get(name));
}

void MemoryStore::List(const core::ListRequest& /*request*/, core::Done<core::LockPage> done) {
  AnswerLater<core::LockPage>(std::move(done), absl::UnimplementedError("it lists no locks"));
}

void MemoryStore::ForceRelease(const core::ForceReleaseRequest& request,
                               core::Done<core::ForceReleaseAnswer> done) {
  const core::ForceReleaseAnswer answer = server_.ForceRelease(request, seen_);
  seen_ = std::max(seen_, answer.token);
  AnswerLater<core::ForceReleaseAnswer>(std::move(done), answer);
}

// It has none.
void MemoryStore::EndQuarantine(const core::EndQuarantineRequest& /*request*/,
                                core::Done<core::EndQuarantineAnswer> done) {
  AnswerLater<core::EndQuarantineAnswer>(std::move(done), core::EndQuarantineAnswer());
}

}  // namespace lockkeeper::support
