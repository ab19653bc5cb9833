// SPDX-License-Identifier: Apache-2.0
//
// Deadlines of the tests' own calls.
#pragma once

#include <grpc/support/time.h>
#include <grpcpp/client_context.h>

#include <chrono>

namespace lockkeeper::support {

// Gives a call that has not begun `time` from now on.
inline void SetDeadline(grpc::ClientContext& context, std::chrono::milliseconds time) {
  context.set_deadline(gpr_time_from_millis(time.count(), GPR_TIMESPAN));
}

}  // namespace lockkeeper::support
