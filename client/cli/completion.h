// SPDX-License-Identifier: Apache-2.0
//
// Scripts that let a shell complete the command line, made of its grammar.
#pragma once

#include <CLI/CLI.hpp>
#include <array>
#include <string>
#include <string_view>

namespace lockkeeper::cli {

inline constexpr std::array<std::string_view, 3> kShells = {"bash", "zsh", "fish"};

// The script for one of kShells. `app` has the commands, and the options that all of them have.
std::string CompletionScript(const CLI::App& app, std::string_view shell);

}  // namespace lockkeeper::cli
