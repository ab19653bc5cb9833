// SPDX-License-Identifier: Apache-2.0
//
// `lockkeeper run`: a command that runs only while a lock is held. README.md in this folder says
// how.
#pragma once

#include <string>
#include <vector>

#include "cli/arguments.h"
#include "cli/report.h"

namespace lockkeeper::cli {

// Runs it to its end. Requires: this process has one thread, and no gRPC.
Report RunUnderLock(const std::vector<std::string>& servers, const RunCommand& command);

}  // namespace lockkeeper::cli
