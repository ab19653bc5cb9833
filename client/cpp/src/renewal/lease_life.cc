// SPDX-License-Identifier: Apache-2.0
#include "renewal/lease_life.h"

#include <algorithm>

#include "renewal/backoff.h"

namespace lockkeeper::client {
namespace {

constexpr Duration kMarginFixed = std::chrono::milliseconds(50);

// Whether less than a whole ttl is left. The tenth allows for rounding.
bool IsCut(Duration remaining_ttl, Duration ttl) { return remaining_ttl < ttl - ttl / 10; }

}  // namespace

Duration LeaseMargin(Duration remaining_ttl) { return remaining_ttl / 100 + kMarginFixed; }

Instant LeaseEnd(Instant sent, Duration remaining_ttl) {
  return sent + remaining_ttl - LeaseMargin(remaining_ttl);
}

Duration StopMarginMax(Duration ttl) {
  return std::max(Duration::zero(), ttl - LeaseMargin(ttl) - ttl / 3 - ttl / 20);
}

LeaseLife::LeaseLife(const LeaseTerms& terms, Instant sent, Duration remaining_ttl)
    : terms_(terms),
      end_(LeaseEnd(sent, remaining_ttl)),
      // The lease of a repeated acquire may be old already. Then it is extended at once.
      renew_at_(IsCut(remaining_ttl, terms.ttl) ? sent : sent + terms.ttl / 3),
      capped_(terms.max_hold > Duration::zero() && terms.max_hold <= terms.ttl) {}

LeaseLife::Step LeaseLife::Next() const {
  if (lost_) return {Due::kNothing, end_};
  if (asking_ || capped_ || renew_at_ >= lost_at()) return {Due::kLose, lost_at()};
  return {Due::kExtend, renew_at_};
}

Duration LeaseLife::ExtendSent(Instant now) {
  asking_ = true;
  return std::max<Duration>((lost_at() - now) / 2, std::chrono::milliseconds(1));
}

void LeaseLife::ExtendAnswered(Instant now, Instant sent, ExtendOutcome outcome,
                               Duration remaining_ttl, double jitter) {
  asking_ = false;
  if (lost_ || now >= lost_at()) return;
  switch (outcome) {
    case ExtendOutcome::kExtended:
      failures_ = 0;
      end_ = std::max(end_, LeaseEnd(sent, remaining_ttl));
      renew_at_ = std::max(now, sent + terms_.ttl / 3);
      // An extend gives a whole ttl, unless the lease is at its max_hold. The tenth allows for
      // rounding.
      capped_ = remaining_ttl < terms_.ttl - terms_.ttl / 10;
      return;
    case ExtendOutcome::kLeaseLost:
      lost_ = true;
      end_ = std::min(end_, now);
      return;
    case ExtendOutcome::kNoAnswer:
      ++failures_;
      renew_at_ = now + BackoffDelay(failures_, std::min(kBackoffMax, terms_.ttl / 10), jitter);
      return;
    case ExtendOutcome::kRefused:
      renew_at_ = now + terms_.ttl / 3;
      return;
  }
}

bool LeaseLife::LoseIfDue(Instant now) {
  if (now >= lost_at()) lost_ = true;
  return lost_;
}

Duration LeaseLife::Remaining(Instant now) const { return std::max(Duration::zero(), end_ - now); }

}  // namespace lockkeeper::client
