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

// What the answer to an extend means to it. The client believes in the lease.
void TellJudgeOfExtend(Judge& judge, const core::ExtendRequest& request, const absl::Status& answer,
                       core::Instant now);

}  // namespace lockkeeper::simulation
