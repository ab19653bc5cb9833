// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.h"

#include <cstdio>
#include <utility>

#include "cli/printable.h"
#include "cli/standard_streams.h"

namespace lockkeeper::cli {
namespace {

// Failures so far apart are separate troubles: an attempt takes 3 s at most, and the pause before
// it 1 s.
constexpr Duration kTroubleGap = std::chrono::seconds(5);

}  // namespace

void Progress::SetOutlook(Outlook outlook) {
  const std::lock_guard lock(mutex_);
  outlook_ = std::move(outlook);
}

void Progress::OnUnserved(const absl::Status& why) {
  const std::lock_guard lock(mutex_);
  const Instant now = clock_.Now();
  if (trouble_.ok() || now - last_trouble_ > kTroubleGap) {
    trouble_since_ = now;
    is_told_ = false;
  }
  trouble_ = why;
  last_trouble_ = now;
  const bool took_a_whole_try = absl::IsDeadlineExceeded(why);
  if (took_a_whole_try || now - trouble_since_ >= kPatience) TellTrouble();
}

void Progress::OnServed(const std::string& news) {
  const std::lock_guard lock(mutex_);
  trouble_ = absl::OkStatus();
  if (std::exchange(is_told_, false)) Say(news);
}

bool Progress::HasTrouble() {
  const std::lock_guard lock(mutex_);
  return !trouble_.ok() && clock_.Now() - last_trouble_ <= kTroubleGap;
}

void Progress::OnPatienceEnded(const std::string& news) {
  const std::lock_guard lock(mutex_);
  if (!trouble_.ok()) {
    TellTrouble();
  } else if (!news.empty()) {
    Say(news);
  }
}

void Progress::TellTrouble() {
  if (std::exchange(is_told_, true)) return;
  std::string text(trouble_.message());
  if (outlook_) text += "; " + outlook_();
  Say(text);
}

void Progress::Say(const std::string& text) const {
  if (!quiet_) WriteLine(stderr, "lockkeeper: " + Printable(text)).IgnoreError();
}

}  // namespace lockkeeper::cli
