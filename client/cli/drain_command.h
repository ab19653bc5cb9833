// SPDX-License-Identifier: Apache-2.0
//
// The command drain: lets a daemon end in good order.
#pragma once

#include "cli/admin_connection.h"
#include "cli/arguments.h"
#include "cli/report.h"

namespace lockkeeper::cli {

// `service`: of the connection, to look whether the daemon is gone.
Report Drain(AdminConnection& connection, const Service& service, const DrainCommand& command);

}  // namespace lockkeeper::cli
