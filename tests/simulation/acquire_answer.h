// SPDX-License-Identifier: Apache-2.0
//
// Translates the answers to acquires and extends into calls of the judge.
#pragma once

#include "absl/status/statusor.h"
#include "core/requests.h"
#include "simulation/judge.h"

namespace lockkeeper::simulation {

Try TryOf(const core::AcquireRequest& request);

// Whether the caller still waits for the answer.
enum class Caller { kListens, kGone };

void TellJudgeOfAnswer(Judge& judge, const Try& what, Caller caller,
                       const absl::StatusOr<core::AcquireAnswer>& answer, core::Instant now);

// Reports the answer to an extend. The client believes in the lease; the proof that it has shown
// was valid until at least `proved_until`.
void TellJudgeOfExtend(Judge& judge, const core::ExtendRequest& request, core::Instant proved_until,
                       const absl::Status& answer, core::Instant now);

// The same for a client with a session, which itself reports a lost lease to the judge. Every
// answer with a lease has brought its holder a proof, which takes the lease back.
void CheckTakenBack(Judge& judge, const std::string& lock, const absl::Status& answer,
                    core::Instant now);

}  // namespace lockkeeper::simulation
