// SPDX-License-Identifier: Apache-2.0
//
// Tells on stderr, while a command takes long, what it waits for.
#pragma once

#include <functional>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "renewal/boot_clock.h"

namespace lockkeeper::cli {

using client::Duration;
using client::Instant;

// What takes longer than this is told.
inline constexpr Duration kPatience = std::chrono::seconds(1);

// Thread-safety: thread-safe.
class Progress {
 public:
  // Answers in words what happens as long as the service does not serve.
  using Outlook = std::function<std::string()>;

  explicit Progress(bool quiet) : quiet_(quiet) {}

  // Replaces the former outlook.
  void SetOutlook(Outlook outlook);

  // The service did not serve. It is told once, when that has lasted.
  void OnUnserved(const absl::Status& why);

  // The service served. `news` is told if the trouble before was.
  void OnServed(const std::string& news);

  // Nothing has come for kPatience: tells the trouble, or `news` if there is none.
  void OnPatienceEnded(const std::string& news);

 private:
  // Requires of both: mutex_ held.
  void TellTrouble();
  void Say(const std::string& text) const;

  const bool quiet_;
  const client::BootClock clock_;
  std::mutex mutex_;
  Outlook outlook_;       // Guarded by mutex_, as all below.
  absl::Status trouble_;  // OK: there is none.
  Instant trouble_since_;
  Instant last_trouble_;
  bool is_told_ = false;
};

}  // namespace lockkeeper::cli
