// SPDX-License-Identifier: Apache-2.0
//
// The commands that look at locks and break them: get, list, force-release, health.
#pragma once

#include "cli/admin_connection.h"
#include "cli/arguments.h"
#include "cli/report.h"

namespace lockkeeper::cli {

Report Get(AdminConnection& connection, const GetCommand& command);
Report List(AdminConnection& connection, const ListCommand& command);
Report ForceRelease(AdminConnection& connection, const ForceReleaseCommand& command);
Report Health(AdminConnection& connection);

}  // namespace lockkeeper::cli
