// SPDX-License-Identifier: Apache-2.0
//
// The format of --help, and its texts about exit codes.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string_view>

namespace lockkeeper::cli {

// The help of CLI11; the help of a command also has the common options.
std::shared_ptr<CLI::FormatterBase> NewHelpFormatter();

// The text below the options of `command`.
std::string_view FooterOf(std::string_view command);

}  // namespace lockkeeper::cli
