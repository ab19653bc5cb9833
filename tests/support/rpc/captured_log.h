// SPDX-License-Identifier: Apache-2.0
//
// Log records kept for the test to look at.
#pragma once

#include <algorithm>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "telemetry/log.h"

namespace lockkeeper::support {

// Thread-safety: thread-safe.
class CapturedLog final : public telemetry::LogOutput {
 public:
  void Write(std::string_view line) override {
    const std::lock_guard lock(mutex_);
    lines_.emplace_back(line);
  }

  // Those that contain `text`, oldest first.
  std::vector<std::string> LinesWith(std::string_view text) const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> found;
    std::copy_if(lines_.begin(), lines_.end(), std::back_inserter(found),
                 [&](const std::string& line) { return line.find(text) != std::string::npos; });
    return found;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
};

}  // namespace lockkeeper::support
