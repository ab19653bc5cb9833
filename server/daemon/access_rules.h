// SPDX-License-Identifier: Apache-2.0
//
// The rulebook of the settings: read at the start, and again when one of its files changes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "access/access_control.h"
#include "access/access_files.h"
#include "config/config.h"
#include "os/file_watch.h"
#include "telemetry/log.h"

namespace lockkeeper::daemon {

// The wall clock, which decides whether tokens and JWTs have expired. Thread-safety: thread-safe.
absl::Time WallTimeNow();

class AccessRules {
 public:
  // Errors: INVALID_FIELD, one line per problem.
  static absl::StatusOr<AccessRules> Load(const config::Config& config);

  // What can have no effect, or less than it seems: one line each.
  const std::vector<std::string>& warnings() const { return warnings_; }

  const std::shared_ptr<const access::Rulebook>& rulebook() const { return rulebook_; }
  bool has_files() const { return !files_.policy.empty() || !files_.tokens.empty(); }

  // For the watch: what was read, how it is read again, and how `access` takes it.
  const os::Contents& contents() const { return contents_; }
  os::WatchedFiles::Read Reader() const;
  // Lifetime: the result borrows `access` and the logger's log.
  os::WatchedFiles::Take Taker(access::AccessControl& access, telemetry::Logger logger) const;

 private:
  access::AccessFiles files_;
  os::Contents contents_;
  std::shared_ptr<const access::Rulebook> rulebook_;
  std::vector<std::string> warnings_;
};

// Whether clients get gRPC's reflection.
bool HasReflection(const config::Config& config);

// Logs each as access.warning.
void LogWarnings(const telemetry::Logger& logger, const std::vector<std::string>& warnings);

}  // namespace lockkeeper::daemon
