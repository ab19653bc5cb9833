// SPDX-License-Identifier: Apache-2.0
//
// What is logged of a session besides its call and its operations, all at level debug.
#pragma once

#include <cstdint>
#include <string_view>

#include "lockkeeper/v1/lock_service.pb.h"
#include "rpc/caller.h"
#include "telemetry/log.h"

namespace lockkeeper::rpc {

// The session of `caller`, opened by `owner`, keeps a lease that was granted before, or could not.
void LogAdoption(const telemetry::Logger& logger, Caller& caller, std::string_view owner,
                 const v1::SessionAdoptResult& result);

// It was closed, and has released its leases.
void LogReleaseAtClose(const telemetry::Logger& logger, Caller& caller, std::string_view owner,
                       int32_t released);

}  // namespace lockkeeper::rpc
