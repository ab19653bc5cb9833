// SPDX-License-Identifier: Apache-2.0
//
// What a session does with leases besides the operations of its client, told in the log at level
// debug.
#pragma once

#include <cstdint>
#include <string_view>

#include "lockkeeper/v1/lock_service.pb.h"
#include "rpc/call_context.h"

namespace lockkeeper::rpc {

// The session of `context`, opened by `owner`, keeps a lease that was granted before, or could not.
void LogAdoption(CallContext& context, std::string_view owner,
                 const v1::SessionAdoptResult& result);

// It was closed, and has released its leases.
void LogReleaseAtClose(CallContext& context, std::string_view owner, int32_t released);

}  // namespace lockkeeper::rpc
