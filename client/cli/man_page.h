// SPDX-License-Identifier: Apache-2.0
//
// The manual page of the command line, made of its grammar.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace lockkeeper::cli {

// lockkeeper(1) in roff. `app` has the commands, and the options that all of them have; `version`
// is what --version prints.
std::string ManPage(const CLI::App& app, const std::string& version);

}  // namespace lockkeeper::cli
