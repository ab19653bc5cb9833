// SPDX-License-Identifier: Apache-2.0
//
// The command watch: prints what happens to locks, as it happens.
#pragma once

#include "cli/arguments.h"
#include "cli/report.h"
#include "cli/signals/signals.h"

namespace lockkeeper::cli {

// Prints events until a signal arrives, until there were enough, or until an error that trying
// again would not end. A connection that breaks is made again, and a gap is printed.
// Requires: `signals` was made before gRPC's threads.
Report Watch(const Service& service, const WatchCommand& command, OutputFormat format,
             SignalQueue& signals);

}  // namespace lockkeeper::cli
