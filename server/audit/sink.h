// SPDX-License-Identifier: Apache-2.0
//
// Where the lines of the audit trail go: a file, standard output or syslog. The libraries' sinks
// are not used, because they do not say whether a line was written.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "text/problem.h"

namespace lockkeeper::audit {

// Bytes that were taken. Neither bytes nor a problem: the sink is slow, try again.
struct Written {
  size_t bytes = 0;
  text::Problem problem;
};

// Thread-safety: thread-compatible.
class Sink {
 public:
  virtual ~Sink() = default;

  // Writes the beginning of `lines`, each of which ends with a newline; perhaps only a part of one.
  // Waits about 100 ms at most, unless a disk does not answer. What was taken is in the kernel, and
  // survives the end of this process.
  virtual Written Write(std::string_view lines) = 0;

  // Opens the file again, because somebody may have renamed it. If that fails, Write tries again.
  // Lines have to be written from their beginning afterwards.
  virtual text::Problem Reopen() { return std::nullopt; }
};

// `to`: "stdout", "syslog", or the path of a file, which is made with mode 0600 if there is none.
// Errors: AUDIT_UNAVAILABLE.
absl::StatusOr<std::unique_ptr<Sink>> OpenSink(const std::string& to);

// Sends each line to the syslog daemon that listens at the socket `path`, as authpriv.info.
absl::StatusOr<std::unique_ptr<Sink>> OpenSyslog(const std::string& path);

}  // namespace lockkeeper::audit
