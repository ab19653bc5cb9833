// SPDX-License-Identifier: Apache-2.0
//
// A daemon whose memory is measured while clients do what they like.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "integration/daemon/fixture.h"
#include "support/process/process_memory.h"
#include "support/rpc/lock_requests.h"

namespace lockkeeper {

// What the daemon may take at most, whatever its clients do, and when they have gone; and how much
// of `full` a test does to it. The sanitizer takes more by itself: its memory says nothing, so a
// tenth of the work is enough to look for errors.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr double kMemoryMax = 4e9;
inline constexpr double kMemoryAfterwardsMax = kMemoryMax;
constexpr int Work(int full) { return full / 10; }
#else
inline constexpr double kMemoryMax = 300e6;
inline constexpr double kMemoryAfterwardsMax = 60e6;
constexpr int Work(int full) { return full; }
#endif

class MemoryTest : public DaemonTest {
 protected:
  void Measure() { most_ = std::max(most_, support::ResidentBytes(daemon_->pid())); }

  // What was asked before is worked off first.
  void ExpectServed() {
    ASSERT_TRUE(WaitForHealth(*daemon_, support::Serving::kServing));
    support::LockClient client(daemon_->GrpcAddress());
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    bool served = false;
    for (int i = 0; !served && std::chrono::steady_clock::now() < until; ++i) {
      served =
          client.Acquire(support::AcquireOf("other " + std::to_string(i))).response.has_lease();
      Measure();
    }
    EXPECT_TRUE(served);
    EXPECT_LT(most_, kMemoryMax);
  }

  // What clients took that have gone is given back.
  void ExpectMemoryReturned() {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (support::ResidentBytes(daemon_->pid()) > kMemoryAfterwardsMax) {
      ASSERT_LT(std::chrono::steady_clock::now(), until)
          << support::ResidentBytes(daemon_->pid()) << " bytes";
      EXPECT_EQ(Get(*daemon_, "/healthz").status, 200);
    }
  }

  support::RedisServer redis_;
  std::unique_ptr<support::DaemonProcess> daemon_ = Start({"--redis", redis_.url()});
  const uint16_t port_ = PortOf(*daemon_);
  double most_ = 0;
};

}  // namespace lockkeeper
