// SPDX-License-Identifier: Apache-2.0
//
// The commands about who may do what: whoami, can, token.
#pragma once

#include <istream>

#include "absl/time/time.h"
#include "cli/admin_connection.h"
#include "cli/arguments.h"
#include "cli/report.h"

namespace lockkeeper::cli {

Report Whoami(AdminConnection& connection);
Report Can(AdminConnection& connection, const CanCommand& command);

// `input`: where the token stands that is hashed. A word of the command line would be visible to
// every program of the machine.
Report MakeToken(const TokenCommand& command, std::istream& input, absl::Time now);

}  // namespace lockkeeper::cli
