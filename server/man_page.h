// SPDX-License-Identifier: Apache-2.0
//
// The manual page of lockkeeperd, made of its options and settings.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace lockkeeper {

// lockkeeperd(8) in roff. `version`: "lockkeeperd 1.2.3".
std::string ManPage(const CLI::App& app, const std::string& version);

}  // namespace lockkeeper
