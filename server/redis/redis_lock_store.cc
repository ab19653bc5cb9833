// SPDX-License-Identifier: Apache-2.0
#include "redis/redis_lock_store.h"

#include <algorithm>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/errors.h"
#include "redis/format/lock_record.h"
#include "redis/script_outcome.h"
#include "redis/script_reply.h"
#include "redis/scripts.h"

namespace lockkeeper::redis {
namespace {

using core::ErrorReason;
using core::FencingToken;
using core::Lease;
using core::LeaseId;
using core::Micros;
using core::Millis;
using core::NodeTime;

// Replies of a script for one operation.
constexpr size_t kReplyWidth = 4;

absl::Status LeaseLost() {
  return core::Error(ErrorReason::kLeaseLost, "the lease has ended or was never held");
}

// The letters of withdraw.lua, in the order of the enumerators.
std::string_view LetterOf(core::WithdrawScope scope) {
  return std::string_view("LUSBRCPT").substr(static_cast<size_t>(scope), 1);
}

// A keeper as an argument of a script; empty for none.
std::string_view DigitsOf(const std::optional<core::Keeper>& keeper) {
  return keeper ? keeper->digits() : std::string_view();
}

// What was asked for a lease of which its client may not have been told yet.
core::Assurance AskedBy(ExtendScriptOutcome outcome) {
  using enum ExtendScriptOutcome;
  if (outcome == kExtendedForDisk || outcome == kExtendedForDiskAfterExpired)
    return core::Assurance::kDisk;
  if (outcome == kExtendedForReplicas || outcome == kExtendedForReplicasAfterExpired)
    return core::Assurance::kReplicas;
  return core::Assurance::kNone;
}

// Time for one further step of a hand-over that nobody waits for.
constexpr Millis kHandOverTimeout{1000};

}  // namespace

RedisLockStore::RedisLockStore(Node& node, StoreGuard& guard, OperationQueue& queue,
                               LeaseProofs& proofs, ToldLeases* told, const core::Clock& clock,
                               GuardObserver& observer, RedisLockStoreOptions options)
    : node_(node),
      guard_(guard),
      queue_(queue),
      proofs_(proofs),
      told_(told),
      clock_(clock),
      observer_(observer),
      options_(std::move(options)) {}

Lease RedisLockStore::ReadLease(const OperationReply& reply, const LeaseId& lease_id,
                                const std::string& principal, const core::Keeper& keeper,
                                const std::optional<core::Keeper>& adopter) {
  Lease lease = redis::ReadLease(reply, lease_id, node_.assurance());
  const LeaseTerms terms = ReadTerms(reply);
  const ProvedTerms proved = proofs_.TermsOf(reply.route, lease, terms);
  lease.reassertion = proofs_.Make(reply.route, lease, principal, proved);
  if (told_ == nullptr) return lease;
  const core::Instant now = clock_.Now();
  const Micros held_for(terms.hold_end.micros - reply.now.micros);
  told_->Told({.name = lease.name,
               .lease_id = lease_id,
               .token = lease.token,
               .principal = principal,
               .terms = proved,
               .end = now + lease.remaining_ttl,
               .hold_end = now + std::max(held_for, Micros(0)),
               .keeper = keeper,
               .adopter = adopter},
              now);
  return lease;
}

absl::Status RedisLockStore::Refused(Route route) {
  observer_.OnGrantRefused();
  return guard_.Refusal(route);
}

LineKey RedisLockStore::LineKeyOf(const std::string& name) {
  return lines_.Find(name, clock_.Now()) != nullptr ? LineKey::kAlways : LineKey::kWhenAsked;
}

// Only a claim has to see the line.
LineKey RedisLockStore::LineKeyOfExtend(const core::ExtendRequest& request) {
  const KnownLine* const line = lines_.Find(request.name, clock_.Now());
  const bool is_claim = line != nullptr && line->offered == request.lease_id;
  return is_claim ? LineKey::kAlways : LineKey::kWhenAsked;
}

void RedisLockStore::Acquire(const core::AcquireRequest& request,
                             core::Done<core::AcquireAnswer> done) {
  SubmitAcquire(request, "000000", Rank::kNewcomer, std::move(done));
}

void RedisLockStore::Stand(const core::AcquireRequest& request, int64_t old_number,
                           core::Done<core::AcquireOutcome> done) {
  constexpr size_t kWaitersDigits = 6;
  std::string place = Digits(options_.waiters_per_lock_max, kWaitersDigits);
  if (old_number > 0) place.append(" ").append(std::to_string(old_number));
  // A waiter that stands again was admitted before.
  const Rank rank = old_number > 0 ? Rank::kOther : Rank::kNewcomer;
  SubmitAcquire(request, std::move(place), rank, std::move(done));
}

template <typename Outcome>
void RedisLockStore::SubmitAcquire(const core::AcquireRequest& request, std::string place,
                                   Rank rank, core::Done<Outcome> done) {
  // Whoever may have a grant or a place already has to hear of it, or keeps it so.
  const bool is_known = rank != Rank::kNewcomer || request.attempt > 1;
  if (!is_known && !node_.MayConfirm(request.min_assurance)) {
    return queue_.Reject(
        [done = std::move(done)](absl::StatusOr<OperationReply> reply) mutable {
          std::move(done)(reply.status());
        },
        core::Error(ErrorReason::kAssuranceNotReached,
                    "the store confirms less now than store.assurance or min_assurance asks; "
                    "nothing was granted"));
  }
  const std::string text = EncodeText(request);
  queue_.Submit(
      {.script = &kAcquireScript,
       .lock_name = request.name,
       .arguments = CommandPart({EncodeRequest(request, text.size()), text, place}),
       .reply_width = kReplyWidth,
       .rank = rank,
       .lease_id = request.lease_id,
       .line_key = LineKeyOf(request.name),
       .closes_for = request.ttl + request.lock_delay,
       .granting = Granting::kAnew,
       .deadline = request.deadline,
       .done = [this, lease_id = request.lease_id, principal = request.principal,
                keeper = request.keeper,
                done = std::move(done)](absl::StatusOr<OperationReply> reply) mutable {
         if (!reply.ok()) return std::move(done)(reply.status());
         using enum AcquireScriptOutcome;
         switch (const AcquireScriptOutcome outcome{OutcomeOf(*reply)}) {
           case kGranted:
           case kGrantedAfterExpired:
           case kOffered:
           case kOfferedAfterExpired: {
             const bool offered = outcome == kOffered || outcome == kOfferedAfterExpired;
             // An offer is no lease: its claim is answered with a proof.
             Lease lease = offered ? ReadOffered(*reply, lease_id, node_.assurance())
                                   : ReadLease(*reply, lease_id, principal, keeper, {});
             lease.previous_lease_expired =
                 outcome == kGrantedAfterExpired || outcome == kOfferedAfterExpired;
             guard_.OnToken(reply->route, lease.token);
             if (lease.offered) {
               lines_.Saw(lease.name, clock_.Now()).offered = lease_id;
             } else {
               guard_.OnConfirmed(reply->route, reply->sent, lease);
             }
             return std::move(done)(Outcome(std::move(lease)));
           }
           case kContention:
           case kClosed: {
             core::Contention contention = ReadContention(*reply);
             if (outcome == kClosed) contention.reason = core::ContentionReason::kClosed;
             if (contention.waiters > 0) lines_.Saw(reply->lock_name, clock_.Now());
             if (contention.remaining_ttl == Micros(0))
               GoOnHandingOver(std::string(reply->lock_name));
             return std::move(done)(Outcome(std::move(contention)));
           }
           case kWaits:
             if constexpr (std::is_same_v<Outcome, core::AcquireOutcome>) {
               lines_.Saw(reply->lock_name, clock_.Now());
               return std::move(done)(Outcome(ReadWaiting(*reply)));
             }
             return std::move(done)(StatusOfOutcome(OutcomeOf(*reply), reply->lock_name));
           case kLineFull:
             return std::move(done)(
                 core::Error(ErrorReason::kWaiterLimit,
                             "the lock has " + std::to_string(options_.waiters_per_lock_max) +
                                 " waiters, and may not have more (waiters.per_lock_max)"));
           case kRefused:
             return std::move(done)(Refused(reply->route));
           case kEnded:
             return std::move(done)(core::Error(
                 ErrorReason::kLeaseEnded, "the lease id was released or used up: take a new one"));
           default:
             return std::move(done)(StatusOfOutcome(OutcomeOf(*reply), reply->lock_name));
         }
       }});
}

void RedisLockStore::Extend(const core::ExtendRequest& request, core::Done<Lease> done) {
  ExtendWithin(request, request.ttl, Rank::kRenewal, std::move(done));
}

void RedisLockStore::ExtendWithin(const core::ExtendRequest& request, Millis closes_for, Rank rank,
                                  core::Done<Lease> done) {
  constexpr size_t kTtlDigits = 8;
  // For another call, if one is needed. The name is in the reply.
  core::ExtendRequest again{.lease_id = request.lease_id,
                            .ttl = request.ttl,
                            .token = request.token,
                            .reassertion = request.reassertion,
                            .principal = request.principal,
                            .deadline = request.deadline,
                            .keeper = request.keeper};
  queue_.Submit(
      {.script = &kExtendScript,
       .lock_name = request.name,
       .arguments = CommandPart({request.lease_id.digits(), Digits(request.ttl.count(), kTtlDigits),
                                 request.principal, DigitsOf(request.keeper)}),
       .reply_width = kReplyWidth,
       .rank = rank,
       .lease_id = request.lease_id,
       .line_key = LineKeyOfExtend(request),
       .closes_for = closes_for,
       .deadline = request.deadline,
       .done = [this, again = std::move(again),
                done = std::move(done)](absl::StatusOr<OperationReply> reply) mutable {
         if (!reply.ok()) return std::move(done)(reply.status());
         using enum ExtendScriptOutcome;
         switch (const ExtendScriptOutcome outcome{OutcomeOf(*reply)}) {
           case kExtended:
           case kExtendedAfterExpired:
           case kExtendedForDisk:
           case kExtendedForDiskAfterExpired:
           case kExtendedForReplicas:
           case kExtendedForReplicasAfterExpired:
           case kClaimed:
           case kClaimedAfterExpired: {
             Lease lease = ReadLease(*reply, again.lease_id, again.principal, {}, again.keeper);
             lease.asked = AskedBy(outcome);
             lease.claimed = outcome == kClaimed || outcome == kClaimedAfterExpired ||
                             lease.asked > core::Assurance::kNone;
             lease.previous_lease_expired =
                 outcome == kExtendedAfterExpired || outcome == kExtendedForDiskAfterExpired ||
                 outcome == kExtendedForReplicasAfterExpired || outcome == kClaimedAfterExpired;
             ForgetOffer(reply->lock_name, again.lease_id, /*is_lapsed=*/false);
             guard_.OnConfirmed(reply->route, reply->sent, lease);
             return std::move(done)(std::move(lease));
           }
           case kLost:
             ForgetOffer(reply->lock_name, again.lease_id, /*is_lapsed=*/true);
             return std::move(done)(LeaseLost());
           case kForgotten:
             if (again.reassertion.empty()) return std::move(done)(Refused(reply->route));
             again.name = reply->lock_name;
             return Reassert(reply->route, again, std::move(done));
           case kTooLong:
             again.name = reply->lock_name;
             return ExtendWithin(again, Millis(reply->values[1].integer), Rank::kContinuation,
                                 std::move(done));
           default:
             return std::move(done)(StatusOfOutcome(OutcomeOf(*reply), reply->lock_name));
         }
       }});
}

void RedisLockStore::Reassert(Route route, const core::ExtendRequest& request,
                              core::Done<Lease> done) {
  const std::optional<ProvedTerms> proved = proofs_.Check(route, request);
  if (!proved) {
    observer_.OnReassertion(ReassertionEnd::kNotProved);
    return std::move(done)(core::Error(
        ErrorReason::kLeaseLost,
        "the store may have forgotten the lease, and its reassertion does not prove it"));
  }
  if (const core::Micros left = proofs_.TooEarlyBy(route, *proved); left > core::Micros(0)) {
    return std::move(done)(core::ErrorWithDelay(
        ErrorReason::kStoreQuarantined,
        "after a failover the server before may still give the lock to somebody else: no lease is "
        "taken back yet",
        std::chrono::ceil<Millis>(left)));
  }
  constexpr size_t kMillisDigits = 8;
  constexpr size_t kNumberDigits = 16;
  const Millis ttl = request.ttl > Millis(0) ? request.ttl : proved->ttl;
  queue_.Submit(
      {.script = &kReassertScript,
       .lock_name = request.name,
       .arguments = CommandPart(
           {EncodeLeaseId(request.lease_id), Digits(request.token.value, kNumberDigits),
            Digits(ttl.count(), kMillisDigits), Digits(proved->lock_delay.count(), kMillisDigits),
            Digits(proved->max_hold_end.micros, kNumberDigits),
            Digits(proved->lease_end.micros, kNumberDigits),
            Digits(proved->hold_end.micros, kNumberDigits), request.principal,
            DigitsOf(request.keeper), ""}),
       .reply_width = kReplyWidth,
       .rank = Rank::kContinuation,
       .lease_id = request.lease_id,
       .line_key = LineKey::kAlways,
       .closes_for = ttl + proved->lock_delay,
       .deadline = request.deadline,
       .done = [this, lease_id = request.lease_id, principal = request.principal,
                keeper = request.keeper,
                done = std::move(done)](absl::StatusOr<OperationReply> reply) mutable {
         if (!reply.ok()) return std::move(done)(reply.status());
         const ReassertScriptOutcome outcome{OutcomeOf(*reply)};
         if (outcome == ReassertScriptOutcome::kHeldAgain) {
           observer_.OnReassertion(ReassertionEnd::kTakenBack);
           Lease lease = ReadLease(*reply, lease_id, principal, {}, keeper);
           lease.reasserted = true;
           guard_.OnToken(reply->route, lease.token);
           guard_.OnConfirmed(reply->route, reply->sent, lease);
           return std::move(done)(std::move(lease));
         }
         if (outcome == ReassertScriptOutcome::kLost) {
           observer_.OnReassertion(ReassertionEnd::kTooLate);
           return std::move(done)(LeaseLost());
         }
         std::move(done)(StatusOfOutcome(OutcomeOf(*reply), reply->lock_name));
       }});
}

void RedisLockStore::Release(const core::ReleaseRequest& request,
                             core::Done<core::ReleaseAnswer> done) {
  constexpr size_t kReleaseReplyWidth = 4;
  queue_.Submit(
      {.script = &kReleaseScript,
       .lock_name = request.name,
       .arguments = CommandPart({EncodeLeaseId(request.lease_id), request.principal}),
       .reply_width = kReleaseReplyWidth,
       .lease_id = request.lease_id,
       .line_key = LineKeyOf(request.name),
       .survives_clock_step = true,
       .deadline = request.deadline,
       .done = [this, lease_id = request.lease_id, principal = request.principal,
                done = std::move(done)](absl::StatusOr<OperationReply> reply) mutable {
         using core::NotReleasedReason;
         if (!reply.ok()) return std::move(done)(reply.status());
         if (reply->values[1].integer == 1) GoOnHandingOver(std::string(reply->lock_name));
         using enum ReleaseScriptOutcome;
         ReleaseScriptOutcome outcome{OutcomeOf(*reply)};
         // By a clock that was set nobody knows whether the lease ran.
         if (outcome == kExpired && !reply->by_right_clock) outcome = kNotHolder;
         // Otherwise its proof would bring the lease back after a loss.
         if (outcome == kReleased || outcome == kNotHolder)
           proofs_.Ended(reply->route, lease_id, principal);
         switch (outcome) {
           case kReleased:
             return std::move(done)(
                 core::ReleaseAnswer{.held = Micros(reply->values[2].integer),
                                     .token = core::FencingToken{reply->values[3].integer}});
           case kExpired:
             return std::move(done)(core::ReleaseAnswer{NotReleasedReason::kExpired});
           case kNotHolder:
             return std::move(done)(core::ReleaseAnswer{NotReleasedReason::kNotHolder});
           case kLeftLine:
             return std::move(done)(core::ReleaseAnswer{NotReleasedReason::kWaiterRemoved});
           default:
             return std::move(done)(StatusOfOutcome(OutcomeOf(*reply), reply->lock_name));
         }
       }});
}

void RedisLockStore::Confirm(const std::string& name, core::Assurance wanted,
                             core::Instant deadline, core::ConfirmDone done) {
  node_.Confirm(node_.RouteOf(queue_.keys().RecordKey(name)), wanted, deadline, std::move(done));
}

void RedisLockStore::Withdraw(const core::WithdrawRequest& request,
                              core::Done<core::WithdrawResult> done) {
  if (told_ != nullptr) told_->Withdrawn(request);
  constexpr size_t kAttemptDigits = 6;
  constexpr size_t kTokenDigits = 16;
  queue_.Submit(
      {.script = &kWithdrawScript,
       .lock_name = request.name,
       .arguments =
           CommandPart({EncodeLeaseId(request.lease_id), Digits(request.attempt, kAttemptDigits),
                        request.keeper.digits(), LetterOf(request.scope),
                        Digits(request.token.value, kTokenDigits)}),
       .reply_width = kReplyWidth,
       .lease_id = request.lease_id,
       .line_key = LineKeyOf(request.name),
       .survives_clock_step = true,
       .deadline = request.deadline,
       .done = [this, scope = request.scope, lease_id = request.lease_id,
                done = std::move(done)](absl::StatusOr<OperationReply> reply) mutable {
         using core::WithdrawResult;
         if (!reply.ok()) return std::move(done)(reply.status());
         if (reply->values[1].integer == 1) GoOnHandingOver(std::string(reply->lock_name));
         const std::optional<WithdrawResult> result = ReadWithdrawResult(*reply);
         if (!result) {
           return std::move(done)(StatusOfOutcome(OutcomeOf(*reply), reply->lock_name));
         }
         if (scope == core::WithdrawScope::kRelease && *result == WithdrawResult::kWithdrawn)
           proofs_.Ended(reply->route, lease_id);
         std::move(done)(*result);
       }});
}

void RedisLockStore::Fence(const core::FenceRequest& request, core::Done<core::FenceAnswer> done) {
  constexpr size_t kFenceReplyWidth = 2;
  const bool live = request.liveness == core::LeaseLiveness::kRequired;
  queue_.Submit({.script = &kFenceScript,
                 .lock_name = request.name,
                 .arguments = CommandPart({std::to_string(request.token.value), live ? "1" : "0"}),
                 .reply_width = kFenceReplyWidth,
                 .deadline = request.deadline,
                 .done = [done = std::move(done)](absl::StatusOr<OperationReply> reply) mutable {
                   if (!reply.ok()) return std::move(done)(reply.status());
                   using enum FenceScriptOutcome;
                   const FenceScriptOutcome outcome{OutcomeOf(*reply)};
                   if (outcome < kAdmitted || outcome > kUnknown)
                     return std::move(done)(StatusOfOutcome(OutcomeOf(*reply), reply->lock_name));
                   return std::move(done)(
                       core::FenceAnswer{static_cast<core::Verdict>(outcome),
                                         FencingToken{reply->values[1].integer}});
                 }});
}

void RedisLockStore::Poll(const core::PollRequest& request, core::Done<core::PollAnswer> done) {
  const KnownLine* const line = lines_.Find(request.name, clock_.Now());
  SubmitPoll(request, "W", line == nullptr ? 0 : line->unpark_from, std::move(done));
}

void RedisLockStore::Leave(const std::string& name, core::Instant deadline) {
  SubmitPoll({.name = name, .line = 0, .deadline = deadline}, "L", 0,
             [](absl::StatusOr<core::PollAnswer>) {});
}

// Lets a hand-over go on that had more waiters to pass over than one script call may.
void RedisLockStore::GoOnHandingOver(const std::string& name) {
  SubmitPoll({.name = name, .line = 0, .deadline = clock_.Now() + kHandOverTimeout}, "H", 0,
             [this, name](absl::StatusOr<core::PollAnswer> answer) {
               if (answer.ok() && answer->unfinished) GoOnHandingOver(name);
             });
}

void RedisLockStore::SubmitPoll(const core::PollRequest& request, std::string_view mode,
                                int64_t unpark_from, core::Done<core::PollAnswer> done) {
  constexpr size_t kNumberDigits = 16;
  queue_.Submit(
      {.script = &kPollScript,
       .lock_name = request.name,
       .arguments = CommandPart({options_.daemon_id, mode, Digits(request.line, kNumberDigits),
                                 Digits(unpark_from, kNumberDigits)}),
       .reply_width = kReplyWidth,
       .line_key = LineKey::kAlways,
       .deadline = request.deadline,
       .done = [this, for_waiters = mode == "W",
                done = std::move(done)](absl::StatusOr<OperationReply> reply) mutable {
         if (!reply.ok()) return std::move(done)(reply.status());
         using enum PollScriptOutcome;
         const PollScriptOutcome outcome{OutcomeOf(*reply)};
         if (outcome < kInLine || outcome > kLost) {
           return std::move(done)(StatusOfOutcome(OutcomeOf(*reply), reply->lock_name));
         }
         std::move(done)(ReadPoll(*reply, for_waiters));
       }});
}

core::PollAnswer RedisLockStore::ReadPoll(const OperationReply& reply, bool for_waiters) {
  using enum PollScriptOutcome;
  const PollScriptOutcome outcome{OutcomeOf(reply)};
  core::PollAnswer answer;
  answer.lost = outcome == kLost;
  if (answer.lost) return answer;
  answer.free_in = Micros(reply.values[1].integer);
  // Waiters are parked; or this daemon's are going back to their places, from the next one on.
  int64_t unpark_from = 0;
  if (outcome == kParked) unpark_from = 1;
  if (outcome == kMoreParked) unpark_from = reply.values[2].integer;
  if (outcome != kMoreParked) answer.waiters = static_cast<int32_t>(reply.values[2].integer);
  const bool hands_over = answer.free_in == Micros(0) && answer.waiters > 0;
  answer.unfinished = unpark_from > 0 || hands_over;
  answer.offer = ReadOffer(reply.values[3].text, reply.lock_name);
  const core::Instant now = clock_.Now();
  KnownLine* const line = unpark_from > 0 || answer.waiters > 0 ? &lines_.Saw(reply.lock_name, now)
                                                                : lines_.Find(reply.lock_name, now);
  if (line != nullptr && for_waiters) line->unpark_from = unpark_from;
  if (answer.offer) OnOffer(reply.route, *answer.offer);
  return answer;
}

void RedisLockStore::OnLineMessage(const LineMessage& message) {
  if (listener_ == nullptr) return;
  if (!message.offer) return listener_->OnWaiterReleased(message.name, message.lease_id);
  core::Offer offer = *message.offer;
  OnOffer(node_.RouteOf(queue_.keys().RecordKey(offer.name)), offer);
  listener_->OnOffer(offer);
}

void RedisLockStore::OnOffer(Route route, core::Offer& offer) {
  guard_.OnToken(route, offer.token);
  offer.assurance = node_.assurance();
  lines_.Saw(offer.name, clock_.Now()).offered = offer.lease_id;
}

// If the offer has lapsed, its waiter is parked. The next poll puts it back in its place.
void RedisLockStore::ForgetOffer(std::string_view name, const LeaseId& lease_id, bool is_lapsed) {
  KnownLine* const line = lines_.Find(name, clock_.Now());
  if (line == nullptr || line->offered != lease_id) return;
  line->offered = LeaseId();
  if (is_lapsed) line->unpark_from = 1;
}

}  // namespace lockkeeper::redis
