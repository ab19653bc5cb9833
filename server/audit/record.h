// SPDX-License-Identifier: Apache-2.0
//
// One line of the audit trail. It never has a lease id: whoever reads the trail could use it.
// docs/reference/audit.md lists the fields.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/types.h"
#include "telemetry/outcome.h"

namespace lockkeeper::audit {

// Who asked, as the beginning of a JSON object: made once for all records of a call or a session.
// Thread-safety: immutable.
class Origin {
 public:
  // Texts that are empty are left out.
  Origin(std::string_view principal, std::string_view peer, std::string_view request_id);

  // `,"principal":"ci","peer":"ipv4:..."`
  const std::string& json() const { return json_; }

 private:
  std::string json_;
};

// A field that only few records have. The name is a literal.
using Detail = std::pair<std::string_view, std::variant<std::string_view, int64_t, bool>>;

// Texts and numbers that are empty or 0 are left out. Texts of any length and content are escaped
// and cut. A record only lives until it is written as a line, which is at once: it borrows what it
// tells.
struct Record {
  std::chrono::system_clock::time_point time;  // Trail::Put sets it.
  std::string_view verb;                       // A literal.
  telemetry::Outcome outcome = telemetry::Outcome::kError;
  const Origin* origin = nullptr;  // Null: nobody asked, the daemon noticed it.
  std::string_view lock;
  std::string_view owner;
  core::FencingToken token;
  core::Millis ttl{};
  core::Micros waited{};
  std::string_view reason;
  std::vector<Detail> details;
};

// Writes records as lines.
// Thread-safety: thread-compatible.
class RecordWriter {
 public:
  // Appends the record as a JSON object and a newline.
  void Append(const Record& record, std::string& out);

 private:
  // "2026-01-02T03:04:05"
  std::string_view SecondOf(std::chrono::sys_seconds time);

  std::chrono::sys_seconds second_{std::chrono::seconds(-1)};  // Of `second_text_`.
  std::string second_text_;                                    // Made once for all of a second.
  std::string room_;  // Where a line is put together: as long as the longest may be.
};

}  // namespace lockkeeper::audit
