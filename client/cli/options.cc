// SPDX-License-Identifier: Apache-2.0
#include "cli/options.h"

#include <charconv>
#include <system_error>
#include <utility>
#include <vector>

#include "text/duration.h"

namespace lockkeeper::cli {
namespace {

// The sum of a few of these fits into 64 bits of nanoseconds.
constexpr milliseconds kDurationMax = std::chrono::hours(1000);

void AddLabels(CLI::App& app, std::map<std::string, std::string>& labels) {
  app.add_option_function<std::vector<std::string>>(
         "--label",
         [&labels](const std::vector<std::string>& pairs) {
           for (const std::string& pair : pairs) {
             const size_t equals = pair.find('=');
             if (equals == std::string::npos) {
               throw CLI::ValidationError("--label", "`" + pair + "` is not of the form KEY=VALUE");
             }
             if (!labels.emplace(pair.substr(0, equals), pair.substr(equals + 1)).second) {
               throw CLI::ValidationError("--label",
                                          "`" + pair.substr(0, equals) + "` is given twice");
             }
           }
         },
         "kept with the lease, repeatable")
      ->allow_extra_args(false)
      ->take_all()
      ->type_name("KEY=VALUE");
}

}  // namespace

std::string Listed(std::span<const std::string_view> words) {
  std::string listed;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) listed += i + 1 < words.size() ? ", " : " or ";
    listed += words[i];
  }
  return listed;
}

void AddDuration(CLI::App& app, const std::string& option, const std::string& text,
                 const std::function<void(milliseconds)>& set) {
  app.add_option_function<std::string>(
         option,
         [option, set](const std::string& value) {
           milliseconds duration{0};
           text::Problem problem = text::ParseDuration(value, duration);
           if (!problem && duration > kDurationMax)
             problem = text::Quoted(value) + " is over 1000h";
           if (problem) throw CLI::ValidationError(option, *problem);
           set(duration);
         },
         text)
      ->type_name("DURATION");
}

CLI::Option* AddInteger(CLI::App& app, const std::string& option, const std::string& text,
                        const std::function<void(int64_t)>& set) {
  return app.add_option_function<std::string>(
      option,
      [option, set](const std::string& value) {
        int64_t number = 0;
        const auto [end, error] =
            std::from_chars(value.data(), value.data() + value.size(), number);
        if (error == std::errc::result_out_of_range) {
          throw CLI::ValidationError(option, "`" + value + "` is too large");
        }
        if (error != std::errc() || end != value.data() + value.size()) {
          throw CLI::ValidationError(option, "`" + value + "` is not a whole number");
        }
        set(number);
      },
      text);
}

CLI::Option* AddFile(CLI::App& app, const std::string& option, std::string& file,
                     const std::string& text) {
  return app.add_option(option, file, text)
      ->check([](const std::string& name) {
        return std::string(name.empty() ? "the name of the file is empty" : "");
      })
      ->type_name("FILE");
}

void AddName(CLI::App& app, std::string& name) {
  app.add_option("NAME", name, "name of the lock")->required()->type_name("");
}

CLI::Option* AddPrefix(CLI::App& app, std::string& prefix) {
  return app.add_option("--prefix", prefix, "literal beginning of the names")->type_name("TEXT");
}

void AddLeaseId(CLI::App& app, std::string& lease_id) {
  app.add_option("LEASE_ID", lease_id, "lease id that `acquire` printed")
      ->required()
      ->type_name("");
}

void AddLeaseOptions(CLI::App& app, const std::string& default_owner, LeaseOptions& options) {
  app.add_option("--owner", options.owner,
                 "names the holder for people (default: " + default_owner + ")")
      ->type_name("TEXT");
  AddLabels(app, options.labels);
  AddDuration(app, "--lock-delay", "time the lock stays closed if the lease is not released",
              [&](milliseconds delay) { options.lock_delay = delay; });
  AddDuration(app, "--max-hold", "longest time for which extends can keep the lease",
              [&](milliseconds hold) { options.max_hold = hold; });
  AddDuration(app, "--hold-at-least",
              "time from the grant on for which the lock stays closed, even if released earlier",
              [&](milliseconds hold) { options.hold_at_least = hold; });
}

}  // namespace lockkeeper::cli
