// SPDX-License-Identifier: Apache-2.0
#include "histories/load.h"

#include <algorithm>
#include <utility>

#include "support/rpc/error_reason.h"
#include "support/rpc/lock_requests.h"

namespace lockkeeper::histories {
namespace {

using std::chrono::microseconds;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kCallLimit{5'000};
constexpr std::chrono::milliseconds kTtl{2'000};
constexpr std::chrono::milliseconds kBetween{2};
constexpr size_t kLocks = 64;  // Of each caller, in all parts of the store.
constexpr size_t kOfHundred = 99;

}  // namespace

Load::Load(Scene& scene, size_t callers) {
  for (size_t i = 0; i < callers; ++i) {
    threads_.emplace_back([this, i, address = scene.daemon_gate(i % scene.daemons()).address()] {
      Call(i, support::LockClient(address, kCallLimit));
    });
  }
}

Load::~Load() {
  stopping_ = true;
  for (std::thread& thread : threads_) thread.join();
}

void Load::Call(size_t caller, support::LockClient daemon) {
  for (size_t i = 0; !stopping_; ++i) {
    const std::string name = "load " + std::to_string(caller) + " " + std::to_string(i % kLocks);
    const std::string id = support::NewLeaseId();
    auto sent = Clock::now();
    const auto granted = daemon.Acquire(support::AcquireOf(name, id, kTtl));
    Note(granted, sent);
    if (granted.ok() && !granted.response.has_lease()) {
      const std::lock_guard lock(mutex_);
      ++failures_["held, though nobody else wants it"];
    }
    sent = Clock::now();
    Note(daemon.Release(support::ReleaseOf(name, id)), sent);
    std::this_thread::sleep_for(kBetween);
  }
}

template <typename Response>
void Load::Note(const support::Answer<Response>& answer, Clock::time_point sent) {
  const auto took = std::chrono::duration_cast<microseconds>(Clock::now() - sent);
  const std::lock_guard lock(mutex_);
  times_.push_back(took);
  if (answer.ok()) return;
  const bool told = answer.reason != support::kNoDetails;
  ++failures_[std::to_string(answer.status.error_code()) + " " +
              (told ? answer.reason + ": " : "") + answer.status.error_message()];
}

LoadReport Load::Report() {
  LoadReport report;
  std::vector<microseconds> times;
  {
    const std::lock_guard lock(mutex_);
    times = std::exchange(times_, {});
    report.failures = std::exchange(failures_, {});
  }
  if (times.empty()) return report;
  std::sort(times.begin(), times.end());
  report.calls = times.size();
  report.median = times[times.size() / 2];
  report.p99 = times[times.size() * kOfHundred / 100];
  report.longest = times.back();
  return report;
}

}  // namespace lockkeeper::histories
