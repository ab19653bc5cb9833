// SPDX-License-Identifier: Apache-2.0
//
// What is counted and logged of a session besides the call itself. What goes well: at level debug.
#pragma once

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"
#include "core/session.h"
#include "lockkeeper/v1/lock_service.pb.h"
#include "rpc/call_context.h"

namespace lockkeeper::rpc {

// An operation is answered, of the session of `context`, opened by `owner`. `kind` is its own.
void LogOperation(const RpcKind& kind, CallContext& context, std::string_view owner,
                  const core::AnsweredOperation& operation,
                  const absl::StatusOr<core::SessionAnswer>& answer);

// The session of `context`, opened by `owner`, keeps a lease that was granted before, or could not.
void LogAdoption(CallContext& context, std::string_view owner,
                 const v1::SessionAdoptResult& result);

// It was closed, and has released its leases.
void LogReleaseAtClose(CallContext& context, std::string_view owner, int32_t released);

}  // namespace lockkeeper::rpc
