// SPDX-License-Identifier: Apache-2.0
//
// The command contended: shows which locks were waited for most lately at one daemon.
#pragma once

#include "cli/admin_connection.h"
#include "cli/arguments.h"
#include "cli/report.h"

namespace lockkeeper::cli {

Report Contended(AdminConnection& connection, const ContendedCommand& command);

}  // namespace lockkeeper::cli
