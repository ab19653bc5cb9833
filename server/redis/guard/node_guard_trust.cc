// SPDX-License-Identifier: Apache-2.0
//
// What a guard tells others of its store.
#include <algorithm>
#include <chrono>
#include <string>

#include "core/errors.h"
#include "redis/guard/node_guard.h"
#include "redis/node/error_reply.h"
#include "text/duration.h"

namespace lockkeeper::redis {

using core::ErrorReason;
using core::Instant;
using core::Micros;
using core::Millis;
using core::NodeTime;

// Redis rejected the look at the marker, mostly for want of a right: that does not pass by itself.
void NodeGuard::NoteRefusal(const std::string& answer) {
  if (answer.empty()) return;
  check_problem_ = "answered the look at its marker with: " + answer;
  if (ErrorWord(answer) == "NOPERM") {
    check_problem_ += " (docs/operating/redis.md lists the rights that the daemon needs)";
  }
}

// See StoreTrust.
std::string NodeGuard::Joining() const {
  const bool joins = roll_ && trusted_ && !roll_->admitted();
  return joins ? "is used by other daemons, which have yet to hear of this one" : "";
}

std::string NodeGuard::HeldBackBecause(Route) const {
  if (!waiting_.empty()) return "the store " + waiting_;
  if (const std::string joining = Joining(); !joining.empty()) return "the store " + joining;
  return trusted_ || check_problem_.empty() ? "" : "the store " + check_problem_;
}

absl::Status NodeGuard::Refusal(Route) const {
  const StoreTrust now = trust();
  if (now.quarantine_left > Micros(0)) {
    const auto left = std::chrono::ceil<Millis>(now.quarantine_left);
    std::string text = "the store may have forgotten leases";
    if (now.loss) text.append(": ").append(ExplanationOf(*now.loss));
    text += "; nothing new is granted for another " + text::InWords(left);
    return core::ErrorWithDelay(ErrorReason::kStoreQuarantined, text, left);
  }
  return core::Error(ErrorReason::kStoreUnavailable,
                     now.problem.empty() ? "the store has just been checked: try again"
                                         : "nothing is granted: the store " + now.problem);
}

ProofBasis NodeGuard::proof_basis(Route) const {
  if (!known_) return {};
  Micros isolated{0};
  if (isolation_ > Millis(0) && node_clock_.known()) {
    const NodeTime now = node_clock_.Latest(clock_.Now());
    isolated = std::max(Micros(IsolationEnd(known_->marker).micros - now.micros), Micros(0));
  }
  return {.key = reassertion_key_,
          .clock_offset = known_->marker.clock_offset,
          .longest_lease = known_->marker.ttl_ceiling,
          .isolation_left = isolated};
}

NodeTime NodeGuard::NodeNow() const {
  if (!node_clock_.known()) return {};
  const Instant now = clock_.Now();
  return {node_clock_.Earliest(now).micros / 2 + node_clock_.Latest(now).micros / 2};
}

StoreTrust NodeGuard::trust() const {
  StoreTrust trust{.loss = last_loss_,
                   .noticed = noticed_,
                   .problem = told_.problem,
                   .waiting = waiting_,
                   .joining = Joining()};
  if (!known_) return trust;
  trust.epoch = known_->marker.epoch;
  trust.store_id = known_->marker.service_id;
  trust.run_id = known_->marker.run_id;
  trust.quarantine_end = known_->marker.quarantine_end;
  if (!node_clock_.known()) return trust;
  trust.quarantine_left =
      std::max(Micros(trust.quarantine_end.micros - NodeNow().micros), Micros(0));
  return trust;
}

// Reports the end of the quarantine.
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
  now.problem = check_problem_.empty() ? node_.setting_problem() : check_problem_;
  if (comparable(now) == comparable(told_)) return;
  told_ = now;
  observer_.OnTrustChanged(now);
}

}  // namespace lockkeeper::redis
