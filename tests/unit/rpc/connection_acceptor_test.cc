// SPDX-License-Identifier: Apache-2.0
#include "rpc/connection_acceptor.h"

#include <gtest/gtest.h>

#include <chrono>
#include <semaphore>

#include "support/manual_clock.h"
#include "support/telemetry/recorded_log.h"

namespace lockkeeper::rpc {
namespace {

// A flood keeps busy what a look for floods has to wait for.
TEST(ConnectionAcceptorTest, LookThatHasToWaitPutsOffNoOtherLook) {
  support::ManualClock clock;
  support::RecordedLog log;
  telemetry::Metrics metrics("test", "none");
  std::counting_semaphore<> looks(0);
  const auto wait_a_second = [&]() -> int64_t {
    clock.AdvanceTo(clock.Now() + std::chrono::seconds(1));
    looks.release();
    return 0;
  };
  const ConnectionAcceptor acceptor(
      {}, 1, [](int, config::Security) {}, wait_a_second, clock, metrics, log.logger());

  for (int i = 0; i < 3; ++i) ASSERT_TRUE(looks.try_acquire_for(std::chrono::seconds(60)));
}

}  // namespace
}  // namespace lockkeeper::rpc
