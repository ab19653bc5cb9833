// SPDX-License-Identifier: Apache-2.0
#include "acquire/acquire_flow.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "acquire/retry_rule.h"
#include "lockkeeper/error.h"
#include "status_payloads.h"

namespace lockkeeper::client {
namespace {

// Whether this attempt, by its answer, has neither a grant nor a place in line. A daemon that
// drains leaves a waiter in its place, for a retry at another daemon.
bool LeftNothing(const absl::Status& status) {
  const std::optional<ErrorReason> reason = ReasonOf(status);
  if (!reason) return absl::IsInvalidArgument(status);
  switch (*reason) {
    case ErrorReason::kInvalidField:
    case ErrorReason::kLeaseEnded:
    case ErrorReason::kStoreUnavailable:
    case ErrorReason::kStoreQuarantined:
    case ErrorReason::kWaiterLimit:
    case ErrorReason::kLeaseLimit:
    case ErrorReason::kRateLimit:
    case ErrorReason::kUnauthenticated:
    case ErrorReason::kPermissionDenied:
    case ErrorReason::kAuditUnavailable:
    case ErrorReason::kAssuranceNotReached:
      return true;
    default:
      return false;
  }
}

// The result of one attempt.
struct Try {
  absl::StatusOr<AcquireAnswer> answer;
  Instant began;
  Instant sent;               // When the request was sent whose answer counts.
  bool offered = false;       // There was an offer; `answer` is that of its claim.
  bool offer_lapsed = false;  // The claim came too late; `answer` is then a retryable error.
};

void Claim(AcquireCalls& calls, Duration timeout, const Clock& clock, Try& tried) {
  const Granted offer = std::get<Granted>(*tried.answer);
  tried.sent = clock.Now();
  absl::StatusOr<Granted> claimed =
      calls.Claim(std::clamp<Duration>(offer.remaining_ttl, std::chrono::milliseconds(1), timeout));
  if (claimed.ok()) {
    claimed->grant.waited = offer.grant.waited;
    claimed->grant.previous_lease_expired = offer.grant.previous_lease_expired;
    tried.answer = AcquireAnswer(*std::move(claimed));
    return;
  }
  tried.offer_lapsed = ReasonOf(claimed.status()) == ErrorReason::kLeaseLost;
  tried.answer = tried.offer_lapsed
                     ? ErrorWithReason(absl::StatusCode::kUnavailable, ErrorReason::kOutcomeUnknown,
                                       "the offer ended before it was claimed")
                     : claimed.status();
}

// One attempt: the acquire and, if the answer is an offer, the claim.
Try TryOnce(AcquireCalls& calls, int attempt, Duration wait_timeout, Duration timeout,
            const Clock& clock) {
  const Instant now = clock.Now();
  Try tried{calls.Acquire(attempt, wait_timeout, wait_timeout + timeout), now, now};
  auto* granted = tried.answer.ok() ? std::get_if<Granted>(&*tried.answer) : nullptr;
  tried.offered = granted != nullptr && granted->offered;
  if (tried.offered) Claim(calls, timeout, clock, tried);
  return tried;
}

// Makes the answer that of one wait, however many attempts it took.
void JoinWaits(Duration waited_before, AcquireAnswer& answer) {
  if (auto* granted = std::get_if<Granted>(&answer)) {
    granted->grant.waited += std::chrono::duration_cast<std::chrono::milliseconds>(waited_before);
    return;
  }
  auto& contention = std::get<Contention>(answer);
  if (contention.reason != ContentionReason::kCancelled) {
    contention.reason = ContentionReason::kWaitTimedOut;
  }
}

}  // namespace

AcquireEnd RunAcquire(AcquireCalls& calls, const AcquireLimits& limits, const Clock& clock,
                      Jitter& jitter) {
  const Instant begin = clock.Now();
  const Instant wait_end = begin + limits.wait_timeout;
  RetryRule rule(wait_end + limits.call_timeout, limits.addresses, jitter);
  bool unresolved = false;
  Instant now = begin;
  for (int attempt = 1;; ++attempt, now = clock.Now()) {
    const Duration wait = std::max<Duration>(wait_end - now, Duration::zero());
    Try tried = TryOnce(calls, attempt, wait, rule.TryTimeout(now + wait), clock);
    if (tried.answer.ok()) {
      if (limits.wait_timeout > Duration::zero()) JoinWaits(tried.began - begin, *tried.answer);
      return {std::move(tried.answer), tried.sent, unresolved};
    }
    if (attempt > 1 && ReasonOf(tried.answer.status()) == ErrorReason::kLeaseEnded &&
        calls.TakeNewLeaseId()) {
      attempt = 0;
      unresolved = false;  // The old lease id can no longer get a grant.
      continue;
    }
    if (tried.offered || !LeftNothing(tried.answer.status())) unresolved = true;
    const std::optional<Duration> delay = rule.DelayAfter(tried.answer.status(), now, clock.Now());
    if (!delay) return {rule.Explain(tried.answer.status()), tried.sent, unresolved};
    if (!tried.offer_lapsed) calls.TryElsewhere(tried.answer.status());
    if (!calls.Pause(*delay)) {
      return {absl::CancelledError("the acquire was cancelled by its caller"), tried.sent,
              unresolved};
    }
  }
}

}  // namespace lockkeeper::client
