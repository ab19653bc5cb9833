// SPDX-License-Identifier: Apache-2.0
//
// The command top: a live table of locks.
#pragma once

#include "cli/admin_connection.h"
#include "cli/arguments.h"
#include "cli/report.h"
#include "cli/signals/signals.h"

namespace lockkeeper::cli {

// The table once, as text or JSON.
Report TopOnce(AdminConnection& connection, const TopCommand& command);

// The table on the terminal, anew every two seconds, until somebody types q or a signal of
// `signals` (INT, TERM, HUP, QUIT, TSTP, WINCH) ends it. Gives the terminal back as it was.
// Requires: standard input and output are terminals.
Report TopLive(AdminConnection& connection, const TopCommand& command, SignalQueue& signals);

}  // namespace lockkeeper::cli
