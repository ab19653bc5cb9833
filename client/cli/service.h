// SPDX-License-Identifier: Apache-2.0
//
// The service that --server names.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "cli/arguments.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "lockkeeper/client.h"

namespace lockkeeper::cli {

// Keeps gRPC from writing its own log to stderr, unless GRPC_VERBOSITY asks for it. Call it before
// the first channel is made.
void SilenceGrpc();

// A client with the timeout of the command line, which is shorter than the default because a person
// waits. Lifetime: borrows `progress` until the client and its leases are gone. `wait`: how long
// its call may stand in line.
absl::StatusOr<Client> NewClient(const Service& service, Progress& progress,
                                 const std::string& owner, milliseconds wait);

// Reads the files of the options. The error names the malformed address, the option whose file
// cannot be used, or the address at which the token must not be shown.
absl::Status CheckService(const Service& service);

// The report of an error of the two functions above.
Report ServerOptionReport(const absl::Status& status);

}  // namespace lockkeeper::cli
