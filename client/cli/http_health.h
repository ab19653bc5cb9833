// SPDX-License-Identifier: Apache-2.0
//
// `lockkeeper health --http`: whether a daemon serves, asked where no certificate is needed.
#pragma once

#include <string>

#include "cli/arguments.h"
#include "cli/report.h"

namespace lockkeeper::cli {

// Why `--http` cannot take the address; empty if it can.
std::string ProblemOfHttpAddress(const std::string& address);

// Requires: ProblemOfHttpAddress(address) is empty. Asks for /readyz there, without TLS. Blocks for
// `timeout` at most in each step: the connection, and each part of the answer. The report says
// `not_serving` if the answer is another one than 200, and UNAVAILABLE if there is none.
Report HttpHealth(const std::string& address, milliseconds timeout);

}  // namespace lockkeeper::cli
