// SPDX-License-Identifier: Apache-2.0
#include "acquire/acquire_flow.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "acquire/retry_rule.h"
#include "lockkeeper/error.h"

namespace lockkeeper::client {
namespace {

// Whether the daemon's answer says that this try left nothing behind. Draining leaves a waiter in
// its place, so that another daemon can go on with it.
bool LeftNothing(const absl::Status& status) {
  const std::optional<ErrorReason> reason = ReasonOf(status);
  if (!reason) return absl::IsInvalidArgument(status) || absl::IsUnimplemented(status);
  switch (*reason) {
    case ErrorReason::kInvalidField:
    case ErrorReason::kLeaseEnded:
    case ErrorReason::kStoreUnavailable:
    case ErrorReason::kStoreQuarantined:
    case ErrorReason::kWaiterLimit:
    case ErrorReason::kLeaseLimit:
    case ErrorReason::kRateLimit:
      return true;
    default:
      return false;
  }
}

// One try: the acquire and, if it is answered by an offer, the claim. `sent` becomes the time of
// the request whose answer counts.
absl::StatusOr<AcquireAnswer> TryOnce(AcquireCalls& calls, int attempt, Duration wait_timeout,
                                      Duration timeout, const Clock& clock, Instant& sent) {
  sent = clock.Now();
  absl::StatusOr<AcquireAnswer> answer =
      calls.Acquire(attempt, wait_timeout, wait_timeout + timeout);
  if (!answer.ok()) return answer;
  auto* granted = std::get_if<Granted>(&*answer);
  if (granted == nullptr || !granted->offered) return answer;

  sent = clock.Now();
  absl::StatusOr<Granted> claimed = calls.Claim(
      std::clamp<Duration>(granted->remaining_ttl, std::chrono::milliseconds(1), timeout));
  if (absl::IsFailedPrecondition(claimed.status())) {
    // The offer lapsed. The same acquire, sent again, goes on in the line.
    return absl::UnavailableError("the offer ended before it was claimed");
  }
  if (!claimed.ok()) return claimed.status();
  claimed->grant.waited = granted->grant.waited;
  claimed->grant.previous_lease_expired = granted->grant.previous_lease_expired;
  return AcquireAnswer(*std::move(claimed));
}

}  // namespace

AcquireEnd RunAcquire(AcquireCalls& calls, const AcquireLimits& limits, const Clock& clock,
                      Jitter& jitter) {
  Instant now = clock.Now();
  const Instant wait_end = now + limits.wait_timeout;
  RetryRule rule(wait_end + limits.call_timeout, limits.addresses, jitter);
  AcquireEnd end{absl::UnknownError("not tried"), Instant(), false};
  for (int attempt = 1;; ++attempt, now = clock.Now()) {
    const Duration wait = std::max<Duration>(wait_end - now, Duration::zero());
    end.answer = TryOnce(calls, attempt, wait, rule.TryTimeout(now + wait), clock, end.sent);
    if (end.answer.ok()) return end;
    if (!LeftNothing(end.answer.status())) end.unresolved = true;
    const std::optional<Duration> delay = rule.DelayAfter(end.answer.status(), clock.Now());
    if (!delay) return end;
    calls.TryElsewhere();
    if (!calls.Pause(*delay)) {
      end.answer = absl::CancelledError("the acquire was cancelled by its caller");
      return end;
    }
  }
}

}  // namespace lockkeeper::client
