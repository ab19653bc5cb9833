// SPDX-License-Identifier: Apache-2.0
//
// The commands that a holder uses: acquire, extend, release, fence. Each makes one call of the
// client and says what came of it.
#pragma once

#include "cli/arguments.h"
#include "cli/report.h"
#include "cli/signals/signals.h"
#include "lockkeeper/client.h"

namespace lockkeeper::cli {

// A signal of `signals` ends it.
Report Acquire(Client& client, const AcquireCommand& command, SignalQueue& signals);
Report Extend(Client& client, const ExtendCommand& command);
Report Release(Client& client, const ReleaseCommand& command);
Report Fence(Client& client, const FenceCommand& command);

// What an acquire without a lease has to say, with `code` if somebody else has the lock.
Report NotAcquiredReport(const AcquireResult& result, std::string_view name, int code);

// user@host, for people who look at who holds a lock.
std::string DefaultOwner();

}  // namespace lockkeeper::cli
