// SPDX-License-Identifier: Apache-2.0
#include "lockkeeper/acquire_result.h"

#include <gtest/gtest.h>

namespace lockkeeper {
namespace {

TEST(AcquireResultTest, UsingAResultWithoutALeaseEndsTheProcess) {
  AcquireResult failed(absl::UnavailableError("the daemon is away"));
  AcquireResult contended(Contention{}, absl::AbortedError("held"));

  EXPECT_DEATH(static_cast<void>(failed->fencing_token()), "without a lease.*the daemon is away");
  EXPECT_DEATH(static_cast<void>(std::move(contended).TakeLease()), "without a lease");
}

TEST(AcquireResultTest, OnlyALeaseIsTrue) {
  EXPECT_FALSE(AcquireResult(absl::UnavailableError("x")));
  EXPECT_FALSE(AcquireResult(Contention{}, absl::AbortedError("held")));
  EXPECT_FALSE(AcquireResult(Contention{}, absl::AbortedError("held")).status().ok());
}

}  // namespace
}  // namespace lockkeeper
