// SPDX-License-Identifier: Apache-2.0
//
// What the tests of losses share: two daemons before one Redis, whose clock the test can set.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/clock/server_clock.h"
#include "support/process/daemon_process.h"
#include "support/process/redis_server.h"
#include "support/rpc/lock_client.h"
#include "support/rpc/lock_requests.h"

namespace lockkeeper::forget {

// For what happens at once on an idle machine.
inline constexpr std::chrono::seconds kPatience{30};

// Thread-safety: not thread-safe; made on the test's main thread.
class Service {
 public:
  // `up_for`: the age of the server by its own clock.
  explicit Service(support::RedisServerOptions options = {}, core::Micros up_for = {})
      : redis(WithClock(std::move(options))) {
    clock.StepBy(up_for);
    for (int i = 0; i < 2; ++i) AddDaemon();
  }

  // Knows the store when it returns. One that comes later takes an emptied store for a new one.
  void AddDaemon() {
    AddDaemonThatWaits("0s");
    EXPECT_TRUE(clients.back()->Fence(support::FenceOf("any", 1)).ok());
  }

  // For so long before it takes an empty store for a new one. May not know the store yet.
  void AddDaemonThatWaits(const std::string& first_use_wait) {
    daemons.push_back(std::make_unique<support::DaemonProcess>(support::DaemonProcessOptions{
        .program = LOCKKEEPERD_PROGRAM,
        .arguments = {"--redis", redis.unix_url(), "--listen", "127.0.0.1:0", "--http-listen",
                      "127.0.0.1:0"},
        // Records outlive an hour that the clock is set forward.
        .environment = {{"LOCKKEEPERD_STORE_RECORD_RETENTION", "24h"},
                        {"LOCKKEEPERD_STORE_FIRST_USE_WAIT", first_use_wait}}}));
    daemons.back()->WaitUntilReady();
    clients.push_back(
        std::make_unique<support::LockClient>(daemons.back()->GrpcAddress(), kPatience));
  }

  // Whether the condition comes true in a time that is long for everything.
  template <typename Condition>
  static bool Eventually(Condition condition) {
    const auto until = std::chrono::steady_clock::now() + kPatience;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > until) return false;
      std::this_thread::yield();
    }
    return true;
  }

  // Whether all daemons know of a loss, and one has named it in its log.
  bool HasNoticed(const std::string& loss) const {
    bool named = false;
    for (const auto& daemon : daemons) {
      const std::string log = daemon->Stderr();
      if (!Has(log, "event=guard.loss_suspected") && !Has(log, "event=guard.new_epoch")) {
        return false;
      }
      named = named || Has(log, "loss=" + loss);
    }
    return named;
  }

  // Columns of the marker, see docs/reference/marker.md.
  int64_t Epoch() const { return MarkerNumber(20, 29); }
  int64_t Beat() const { return MarkerNumber(185, 200); }

  bool AnyLogHas(const std::string& text) const {
    for (const auto& daemon : daemons) {
      if (Has(daemon->Stderr(), text)) return true;
    }
    return false;
  }

  std::string Logs() const {
    std::string logs;
    for (const auto& daemon : daemons) logs += daemon->Stderr() + "\n";
    return logs;
  }

  support::ServerClock clock;
  support::RedisServer redis;
  std::vector<std::unique_ptr<support::DaemonProcess>> daemons;
  std::vector<std::unique_ptr<support::LockClient>> clients;

 private:
  support::RedisServerOptions WithClock(support::RedisServerOptions options) const {
    options.environment = clock.environment();
    return options;
  }

  int64_t MarkerNumber(size_t first, size_t last) const {
    const std::string marker = redis.Run({"GET", "lk:store"}).text;
    return marker.size() < last ? 0 : std::stoll(marker.substr(first - 1, last - first + 1));
  }

  static bool Has(const std::string& log, const std::string& text) {
    return log.find(text) != std::string::npos;
  }
};

}  // namespace lockkeeper::forget
