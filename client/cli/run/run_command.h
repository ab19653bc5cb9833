// SPDX-License-Identifier: Apache-2.0
//
// `lockkeeper run`: runs a command only while it holds a lock. README.md in this folder says how.
#pragma once

#include "cli/arguments.h"
#include "cli/progress.h"
#include "cli/report.h"

namespace lockkeeper::cli {

// Runs the command to its end. Requires: this process has one thread, and no gRPC.
Report RunUnderLock(const Service& service, Progress& progress, const RunCommand& command);

}  // namespace lockkeeper::cli
