// SPDX-License-Identifier: Apache-2.0
//
// The options of a command line as items of its manual page.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "man/roff.h"

namespace lockkeeper::man {

// "-h, --help", "--ttl DURATION" or, of an argument, "NAME".
std::string TermOf(const CLI::Option& option);

bool IsArgument(const CLI::Option& option);

// An item for each option and argument of `app`; that of a command does not repeat --help.
void AddOptions(const CLI::App& app, Roff& page);

}  // namespace lockkeeper::man
