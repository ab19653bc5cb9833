// SPDX-License-Identifier: Apache-2.0
//
// What every call to a daemon sets.
#pragma once

#include <grpc/support/time.h>
#include <grpcpp/client_context.h>

#include "renewal/time.h"

namespace lockkeeper::client {

// Makes the call end after `timeout`, whatever the wall clock does meanwhile.
inline void SetTimeout(grpc::ClientContext& context, Duration timeout) {
  context.set_deadline(gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                                    gpr_time_from_nanos(timeout.count(), GPR_TIMESPAN)));
}

}  // namespace lockkeeper::client
