// SPDX-License-Identifier: Apache-2.0
#include "redis/lease_restorer.h"

#include <chrono>
#include <string>
#include <utility>

#include "absl/strings/str_format.h"
#include "redis/format/lock_record.h"
#include "redis/script_outcome.h"
#include "redis/scripts.h"

namespace lockkeeper::redis {
namespace {

using core::Micros;
using core::Millis;

constexpr size_t kReplyWidth = 4;
constexpr Millis kTimeout{1'000};
constexpr Millis kAgainAfter{200};

// LOST: it has ended for all that the store knows, or a newer one is there.
bool IsRestored(const OperationReply& reply) {
  const ReassertScriptOutcome outcome{OutcomeOf(reply)};
  return outcome == ReassertScriptOutcome::kHeldAgain || outcome == ReassertScriptOutcome::kLost;
}

}  // namespace

CommandPart RestoringArguments(const ToldLease& lease, core::Instant now) {
  constexpr size_t kMillisDigits = 8;
  constexpr size_t kNumberDigits = 16;
  const int64_t left = std::chrono::ceil<Micros>(lease.end - now).count();
  return CommandPart({EncodeLeaseId(lease.lease_id), Digits(lease.token.value, kNumberDigits),
                      Digits(lease.terms.ttl.count(), kMillisDigits),
                      Digits(lease.terms.lock_delay.count(), kMillisDigits),
                      Digits(lease.terms.max_hold_end.micros, kNumberDigits),
                      Digits(lease.terms.lease_end.micros, kNumberDigits),
                      Digits(lease.terms.hold_end.micros, kNumberDigits), lease.principal,
                      lease.adopter ? lease.adopter->digits() : "", absl::StrFormat("%d", left)});
}

LeaseRestorer::LeaseRestorer(ToldLeases& told, OperationQueue& queue, const core::Clock& clock,
                             core::Executor& executor, OnRestored on_restored)
    : told_(told),
      queue_(queue),
      clock_(clock),
      executor_(executor),
      on_restored_(std::move(on_restored)) {}

void LeaseRestorer::Restore(int64_t epoch) {
  epoch_ = epoch;
  const core::Instant now = clock_.Now();
  if (told_.more_until() <= now) return Submit(epoch, told_.Live(now));
  // Nobody knows all of them until then.
  again_ = executor_.After(std::chrono::ceil<Micros>(told_.more_until() - now),
                           [this, epoch] { Restore(epoch); });
}

void LeaseRestorer::Submit(int64_t epoch, std::vector<ToldLease> leases) {
  failed_.clear();
  under_way_ = leases.size() + 1;
  const core::Instant now = clock_.Now();
  for (ToldLease& lease : leases) {
    queue_.Submit({.script = &kReassertScript,
                   .lock_name = lease.name,
                   .arguments = RestoringArguments(lease, now),
                   .reply_width = kReplyWidth,
                   .rank = Rank::kContinuation,
                   .lease_id = lease.lease_id,
                   .line_key = LineKey::kAlways,
                   .granting = Granting::kWhatWasTold,
                   .survives_clock_step = true,
                   .deadline = now + kTimeout,
                   .done = [this, epoch, lease = std::move(lease)](
                               absl::StatusOr<OperationReply> reply) mutable {
                     if (epoch != epoch_) return;
                     if (!reply.ok() || !IsRestored(*reply)) failed_.push_back(std::move(lease));
                     OnAnswered(epoch);
                   }});
  }
  OnAnswered(epoch);
}

void LeaseRestorer::OnAnswered(int64_t epoch) {
  if (--under_way_ > 0) return;
  std::erase_if(
      failed_, [now = clock_.Now()](const ToldLease& lease) { return lease.ClosedUntil() <= now; });
  if (failed_.empty()) return on_restored_(epoch);
  again_ = executor_.After(kAgainAfter, [this, epoch] { Submit(epoch, std::move(failed_)); });
}

}  // namespace lockkeeper::redis
