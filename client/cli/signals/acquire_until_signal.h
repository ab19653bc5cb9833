// SPDX-License-Identifier: Apache-2.0
//
// An acquire that a signal ends: whoever presses Ctrl-C while it stands in line leaves the line.
#pragma once

#include <string>
#include <variant>

#include "cli/progress.h"
#include "cli/report.h"
#include "cli/signals/signals.h"
#include "lockkeeper/client.h"

namespace lockkeeper::cli {

// Acquires on another thread until there is an answer, or a signal of `signals` comes that is more
// than news of the terminal (CONT, WINCH). Then nothing is left behind: what may have been granted,
// or may stand in line, is released, also if the lease id is the caller's. What that takes is
// bounded by the client's timeouts; a second signal ends the program at once. `progress` hears if
// it takes long. Requires: `signals` is older than the client's threads.
std::variant<AcquireResult, Report> AcquireUntilSignal(Client& client, const std::string& name,
                                                       AcquireOptions options, SignalQueue& signals,
                                                       Progress& progress);

}  // namespace lockkeeper::cli
