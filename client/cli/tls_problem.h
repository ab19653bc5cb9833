// SPDX-License-Identifier: Apache-2.0
//
// Which check of TLS has failed. gRPC 1.51 does not tell the client; so after a call that has found
// the service unavailable, a handshake of our own finds out.
#pragma once

#include <optional>
#include <string>

#include "cli/arguments.h"
#include "cli/report.h"
#include "lockkeeper/options.h"

namespace lockkeeper::cli {

// What is wrong with TLS at `address`, for people: the check that failed and the option that mends
// it. Nothing if nobody answers there, or if all is well. Takes a few seconds at most.
std::optional<std::string> FindTlsProblem(const std::string& address, const TlsOptions& tls);

// `report`, unless it says that the service is unavailable and TLS is the reason: then a report
// that says so, with the exit code for what is not proved.
Report WithTlsProblem(Report report, const Service& service);

}  // namespace lockkeeper::cli
