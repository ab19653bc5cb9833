// SPDX-License-Identifier: Apache-2.0
#include "simulation/acquire_answer.h"

#include <algorithm>
#include <variant>

#include "core/errors.h"

namespace lockkeeper::simulation {

using core::ErrorReason;

Try TryOf(const core::AcquireRequest& request) {
  return {request.name, std::string(request.lease_id.digits()),
          std::string(request.keeper.digits()), request.min_assurance};
}

namespace {

void CheckAssurance(Judge& judge, const core::Lease& lease, core::Assurance least) {
  if (lease.assurance >= least) return;
  judge.Violation(std::string(lease.lease_id.digits().substr(0, 8)) + " was told that it has " +
                  lease.name + ", of which too little is confirmed");
}

}  // namespace

void TellJudgeOfAnswer(Judge& judge, const Try& what, Caller caller,
                       const absl::StatusOr<core::AcquireAnswer>& answer, core::Instant now) {
  const auto reason = core::ReasonOf(answer.status());
  const bool contention = answer.ok() && std::holds_alternative<core::Contention>(*answer);
  const bool refused = reason == ErrorReason::kStoreUnavailable ||
                       reason == ErrorReason::kRateLimit ||
                       reason == ErrorReason::kAssuranceNotReached;
  if (contention || refused) judge.Refused(what, now);
  const bool granted = answer.ok() && !contention;
  if (granted) {
    const core::Lease& lease = std::get<core::Lease>(*answer);
    CheckAssurance(judge, lease, std::max(what.min_assurance, judge.min_assurance()));
    lease.offered ? judge.OfferTold(what) : judge.LeaseTold(lease);
  }
  if (granted && caller == Caller::kListens) judge.Delivered(what);
  if (reason == ErrorReason::kOutcomeUnknown) judge.GivenUp(what, now);
  if (reason == ErrorReason::kServerDraining) judge.Drained(what);
  if (!refused && reason != ErrorReason::kOutcomeUnknown) judge.Settled(what);
  judge.Answered(what, now);
}

void TellJudgeOfExtend(Judge& judge, const core::ExtendRequest& request, core::Instant proved_until,
                       const absl::Status& answer, core::Instant now) {
  const auto reason = core::ReasonOf(answer);
  if (reason == ErrorReason::kLeaseLost) {
    judge.ToldLost(request.name, request.token.value, proved_until, now);
  }
  CheckTakenBack(judge, request.name, answer, now);
}

void CheckTakenBack(Judge& judge, const std::string& lock, const absl::Status& answer,
                    core::Instant now) {
  if (core::ReasonOf(answer) == ErrorReason::kStoreQuarantined) {
    judge.ProofRefused(lock, now);
  }
}

}  // namespace lockkeeper::simulation
