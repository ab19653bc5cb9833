// SPDX-License-Identifier: Apache-2.0
//
// An acquire that a signal ends: Ctrl-C leaves the line.
#pragma once

#include <string>
#include <variant>

#include "cli/progress.h"
#include "cli/report.h"
#include "cli/signals/signals.h"
#include "lockkeeper/client.h"

namespace lockkeeper::cli {

// Acquires on another thread until there is an answer or a signal of `signals` arrives; CONT and
// WINCH only concern the terminal and do not count. After a signal the lease id is released, even
// one that the caller chose, since it may have a grant or a place in line. That takes at most the
// client's timeouts; a second signal ends the program at once. `progress` is told if it takes long.
// Requires: `signals` was made before the client's threads.
std::variant<AcquireResult, Report> AcquireUntilSignal(Client& client, const std::string& name,
                                                       AcquireOptions options, SignalQueue& signals,
                                                       Progress& progress);

}  // namespace lockkeeper::cli
