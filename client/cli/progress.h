// SPDX-License-Identifier: Apache-2.0
//
// Prints on stderr what a command waits for, if it takes long.
#pragma once

#include <functional>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "renewal/boot_clock.h"

namespace lockkeeper::cli {

using client::Duration;
using client::Instant;

// Nothing is printed before this time.
inline constexpr Duration kPatience = std::chrono::seconds(1);

// Thread-safety: thread-safe.
class Progress {
 public:
  // Says what the command will do while the service does not serve.
  using Outlook = std::function<std::string()>;

  explicit Progress(bool quiet) : quiet_(quiet) {}

  // Replaces the previous outlook.
  void SetOutlook(Outlook outlook);

  // The service did not serve. Prints that once, when it has lasted for kPatience.
  void OnUnserved(const absl::Status& why);

  // The service served again. Prints `news` if the trouble was printed.
  void OnServed(const std::string& news);

  // Whether the service did not serve lately.
  bool HasTrouble();

  // There was no answer for kPatience. Prints the trouble, or `news` if there is none.
  void OnPatienceEnded(const std::string& news);

 private:
  // Requires of both: mutex_ held.
  void TellTrouble();
  void Say(const std::string& text) const;

  const bool quiet_;
  const client::BootClock clock_;
  std::mutex mutex_;
  Outlook outlook_;       // Guarded by mutex_, as all below.
  absl::Status trouble_;  // OK if there is none.
  Instant trouble_since_;
  Instant last_trouble_;
  bool is_told_ = false;
};

}  // namespace lockkeeper::cli
