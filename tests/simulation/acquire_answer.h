// SPDX-License-Identifier: Apache-2.0
//
// What the answers to acquires and extends mean to the judge.
#pragma once

#include "absl/status/statusor.h"
#include "core/requests.h"
#include "simulation/judge.h"

namespace lockkeeper::simulation {

Try TryOf(const core::AcquireRequest& request);

// Whether the caller still listens.
enum class Caller { kListens, kGone };

void TellJudgeOfAnswer(Judge& judge, const Try& what, Caller caller,
                       const absl::StatusOr<core::AcquireAnswer>& answer, core::Instant now);

// What the answer to an extend means to it. The client believes in the lease; the proof that it has
// shown was good until `proved_until` at least.
void TellJudgeOfExtend(Judge& judge, const core::ExtendRequest& request, core::Instant proved_until,
                       const absl::Status& answer, core::Instant now);

// The same of a client with a session, which says by itself that a lease is lost. Every answer with
// a lease has brought its holder a proof, which takes the lease back.
void CheckTakenBack(Judge& judge, const std::string& lock, const absl::Status& answer);

}  // namespace lockkeeper::simulation
