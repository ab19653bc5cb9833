// SPDX-License-Identifier: Apache-2.0
//
// How often each lock is granted, counted by watching.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "cli/admin_connection.h"
#include "cli/signals/wake_up.h"
#include "lockkeeper/admin/v1/admin_service.pb.h"

namespace lockkeeper::cli {

// Counts the grants of the last ten seconds.
//
// Thread-safety: thread-compatible; it counts on a thread of its own.
class GrantRates {
 public:
  // By lock name, grants per second. A lock that is missing had none.
  using Rates = std::map<std::string, double, std::less<>>;

  // Watches the locks whose names begin with `prefix`.
  GrantRates(AdminConnection connection, std::string prefix);
  ~GrantRates();
  GrantRates(const GrantRates&) = delete;
  GrantRates& operator=(const GrantRates&) = delete;

  // Nothing if they are not known: it has just begun, or cannot watch.
  std::optional<Rates> Take();

  // Why it cannot watch, for people. Empty: it does, or has just begun.
  std::string Problem();

 private:
  // A part of the last seconds.
  struct Span {
    std::chrono::nanoseconds began;  // By the boot clock.
    std::map<std::string, int64_t> grants;
  };

  void Run();
  absl::Status Watch();
  void Count(const admin::v1::LockEvent& event);

  AdminConnection connection_;
  const std::string prefix_;
  const WakeUp stop_;
  std::mutex mutex_;
  std::deque<Span> spans_;  // Guarded by mutex_. The newest last; none while nothing is heard.
  std::string problem_;     // Guarded by mutex_.
  std::thread thread_;
};

}  // namespace lockkeeper::cli
