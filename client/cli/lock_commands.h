// SPDX-License-Identifier: Apache-2.0
//
// The commands of a holder: acquire, extend, release, fence. Each makes one call of the client and
// reports its outcome.
#pragma once

#include <sys/types.h>

#include <string>

#include "cli/arguments.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "cli/signals/signals.h"
#include "lockkeeper/client.h"

namespace lockkeeper::cli {

// A signal of `signals` ends it.
Report Acquire(Client& client, const AcquireCommand& command, SignalQueue& signals,
               Progress& progress);
Report Extend(Client& client, const ExtendCommand& command);
Report Release(Client& client, const ReleaseCommand& command);
Report Fence(Client& client, const FenceCommand& command);

// The report of an acquire that got no lease; its exit code is `code` if somebody else has the
// lock.
Report NotAcquiredReport(const AcquireResult& result, std::string_view name, int code);

// user@host/process, and the name of the program that works under the lock, if that is known.
std::string DefaultOwner(pid_t process, const std::string& program = "");

}  // namespace lockkeeper::cli
