// SPDX-License-Identifier: Apache-2.0
//
// One record for each answered request: who asked for what, and the outcome. Routine answers are
// DEBUG; records that need an operator are higher and limited in rate.
#pragma once

#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "core/types.h"
#include "telemetry/log.h"
#include "telemetry/outcome.h"

namespace lockkeeper::telemetry {

// Lifetime: borrows its texts; made for the duration of one call.
struct CallRecord {
  std::string_view request_id;  // This and the next texts are left out if empty.
  std::string_view rpc;
  std::string_view peer;
  std::string_view principal;
  std::string_view owner_id;
  std::string_view lock_name;
  std::optional<core::LeaseId> lease_id;  // The record has its first 8 digits.
  core::FencingToken token;               // 0: none.
  core::Micros waited{};                  // In line. 0: left out.
  Outcome outcome = Outcome::kError;
  const absl::Status& status;
  core::Micros elapsed{};
};

// Thread-safety: thread-safe.
class CallLog {
 public:
  explicit CallLog(Logger logger) : logger_(logger) {}

  // Writes `rpc.answered` (DEBUG), `rpc.refused` or `rpc.unavailable` (WARN), or `rpc.failed`
  // (ERROR). Costs nearly nothing if the record is DEBUG and the log is not.
  void Write(const CallRecord& record);

 private:
  const Logger logger_;
  LogLimit refused_limit_;
  LogLimit unavailable_limit_;
  LogLimit failed_limit_;
};

}  // namespace lockkeeper::telemetry
