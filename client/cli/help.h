// SPDX-License-Identifier: Apache-2.0
//
// How --help looks, and what it says of exit codes.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string_view>

namespace lockkeeper::cli {

// Help as CLI11 makes it; that of a command shows the options of all commands too.
std::shared_ptr<CLI::FormatterBase> NewHelpFormatter();

// What stands below the options of `command`.
std::string_view FooterOf(std::string_view command);

}  // namespace lockkeeper::cli
