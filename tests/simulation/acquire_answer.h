// SPDX-License-Identifier: Apache-2.0
//
// What an acquire's answer means to the judge.
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

}  // namespace lockkeeper::simulation
