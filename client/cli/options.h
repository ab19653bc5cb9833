// SPDX-License-Identifier: Apache-2.0
//
// Adds the options that several commands have. A malformed value gets a plain error text.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/arguments.h"

namespace lockkeeper::cli {

// The words that an option or an argument may be given.
inline constexpr std::array<std::string_view, 3> kOutputFormats = {"text", "json", "shell"};
inline constexpr std::array<std::string_view, 2> kTokenActions = {"create", "hash"};
inline constexpr std::array<std::string_view, 10> kVerbs = {
    "acquire", "extend",        "release",        "fence", "inspect",
    "list",    "force-release", "end-quarantine", "drain", "admin"};

inline constexpr std::array<std::string_view, 2> kContendedOrders = {  // In that of ContendedBy.
    "waits", "time"};

inline constexpr std::array<std::string_view, 6> kSortKeys = {  // In the order of SortBy.
    "name", "holder", "age", "left", "line", "rate"};

inline constexpr std::array<std::string_view, 14> kEventKinds = {
    "started",          "gap",
    "granted",          "offered",
    "extended",         "released",
    "expired",          "lost",
    "forced",           "taken_back",
    "waiting",          "left",
    "quarantine_began", "quarantine_ended"};

// "text, json or shell", for a help text.
std::string Listed(std::span<const std::string_view> words);

// Lets the option be one of `words`.
template <size_t kCount>
CLI::Option* OneOf(CLI::Option* option, const std::array<std::string_view, kCount>& words) {
  return option->check(
      CLI::IsMember(std::vector<std::string>(words.begin(), words.end())).description(""));
}

// An option that takes one of `words`, and sets the value of `to` at the same place.
template <typename Enum, size_t kCount>
void AddChoice(CLI::App& app, const std::string& option, const std::string& text,
               const std::array<std::string_view, kCount>& words, Enum& to) {
  OneOf(app.add_option_function<std::string>(
            option,
            [&words, &to](const std::string& word) {
              to = static_cast<Enum>(std::find(words.begin(), words.end(), word) - words.begin());
            },
            text),
        words)
      ->type_name("KEY");
}

void AddDuration(CLI::App& app, const std::string& option, const std::string& text,
                 const std::function<void(milliseconds)>& set);
CLI::Option* AddInteger(CLI::App& app, const std::string& option, const std::string& text,
                        const std::function<void(int64_t)>& set);
// An option that takes the name of a file. Its environment variable, if it gets one, may be empty.
CLI::Option* AddFile(CLI::App& app, const std::string& option, std::string& file,
                     const std::string& text);
void AddName(CLI::App& app, std::string& name);
CLI::Option* AddPrefix(CLI::App& app, std::string& prefix);
void AddLeaseId(CLI::App& app, std::string& lease_id);
// `default_owner`: in words.
void AddLeaseOptions(CLI::App& app, const std::string& default_owner, LeaseOptions& options);

}  // namespace lockkeeper::cli
