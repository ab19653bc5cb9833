// SPDX-License-Identifier: Apache-2.0
//
// Adds the options that several commands have. A malformed value gets a plain error text.
#pragma once

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "cli/arguments.h"

namespace lockkeeper::cli {

void AddDuration(CLI::App& app, const std::string& option, const std::string& text,
                 const std::function<void(milliseconds)>& set);
CLI::Option* AddInteger(CLI::App& app, const std::string& option, const std::string& text,
                        const std::function<void(int64_t)>& set);
void AddName(CLI::App& app, std::string& name);
void AddLeaseId(CLI::App& app, std::string& lease_id);
// `default_owner`: in words.
void AddLeaseOptions(CLI::App& app, const std::string& default_owner, LeaseOptions& options);

}  // namespace lockkeeper::cli
