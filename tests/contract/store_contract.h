// SPDX-License-Identifier: Apache-2.0
//
// The fixture of the contract suite: asks the store one thing at a time and waits for the answer.
// Tests read like a conversation: `Grant("a", kAda)`, `StepBy(ttl)`, `AskContention("a", kBob)`.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "contract/store_world.h"
#include "core/errors.h"

namespace lockkeeper::core {

inline void PrintTo(ErrorReason reason, std::ostream* out) { *out << RowOf(reason).name; }

}  // namespace lockkeeper::core

namespace lockkeeper::support {

using core::ErrorReason;
using core::LeaseId;
using core::Micros;
using core::Millis;

inline constexpr Millis kTtl{30'000};

// An answer that is under way. Lives until it has come.
template <typename T>
class Answer {
 public:
  core::Done<T> Into() {
    return [this](absl::StatusOr<T> answer) {
      EXPECT_FALSE(answered()) << "answered twice";
      value_ = std::move(answer);
      answered_ = true;
    };
  }

  bool answered() const { return answered_; }
  const absl::StatusOr<T>& value() const { return *value_; }

 private:
  std::optional<absl::StatusOr<T>> value_;
  std::atomic<bool> answered_ = false;
};

class StoreContract : public testing::TestWithParam<WorldKind> {
 protected:
  // Different for different numbers, in all of its digits.
  static LeaseId Id(uint64_t number);
  static core::Keeper KeeperOf(uint64_t call) { return core::Keeper(0xdae0, call); }

  // Requests with what most tests do not care about filled in.
  core::AcquireRequest AcquireOf(const std::string& name, const LeaseId& id);
  core::ExtendRequest ExtendOf(const std::string& name, const LeaseId& id, Millis ttl = Millis(0));
  core::ReleaseRequest ReleaseOf(const std::string& name, const LeaseId& id);
  core::WithdrawRequest WithdrawOf(const core::AcquireRequest& of);
  core::FenceRequest FenceOf(const std::string& name, core::FencingToken token,
                             core::LeaseLiveness liveness = core::LeaseLiveness::kAny);
  core::Instant Deadline() { return world_->Now() + std::chrono::seconds(20); }

  // Ask the store of a daemon and wait for its answer.
  // One with a wait_timeout may stand in the store's line, which it has to
  // have; `old_number`: see WaitingLine::Stand.
  absl::StatusOr<core::AcquireOutcome> Ask(const core::AcquireRequest& request, size_t daemon = 0,
                                           int64_t old_number = 0);
  absl::StatusOr<core::Lease> Ask(const core::ExtendRequest& request);
  absl::StatusOr<core::ReleaseAnswer> Ask(const core::ReleaseRequest& request);
  absl::StatusOr<core::WithdrawResult> Ask(const core::WithdrawRequest& request);
  absl::StatusOr<core::FenceAnswer> Ask(const core::FenceRequest& request);
  absl::StatusOr<core::ForceReleaseAnswer> Ask(const core::ForceReleaseRequest& request);
  absl::StatusOr<core::LockPage> Ask(const core::ListRequest& request);
  absl::StatusOr<std::optional<core::LockInfo>> AskGet(const std::string& name);

  // The same, for the answer that the test expects; any other is a failure.
  core::Lease Grant(const core::AcquireRequest& request, size_t daemon = 0);
  core::Lease Grant(const std::string& name, const LeaseId& id) {
    return Grant(AcquireOf(name, id));
  }
  core::Contention Contend(const core::AcquireRequest& request);
  core::Contention Contend(const std::string& name, const LeaseId& id) {
    return Contend(AcquireOf(name, id));
  }
  core::Lease Extend(const core::ExtendRequest& request);
  core::NotReleasedReason Release(const std::string& name, const LeaseId& id);
  core::WithdrawResult Withdraw(const core::AcquireRequest& of);
  // As the end of a session that kept the lease as `keeper`.
  core::WithdrawResult ReleaseKept(const core::AcquireRequest& of, const core::Keeper& keeper);
  core::FenceAnswer Fence(const core::FenceRequest& request);
  core::ForceReleaseAnswer ForceRelease(
      const std::string& name, core::ReleaseDelay delay = core::ReleaseDelay::kHoldersRemainingTtl);
  core::LockInfo Get(const std::string& name);

  // Reason of an error; nothing for success and for errors that have none.
  template <typename T>
  static std::optional<ErrorReason> ReasonOf(const absl::StatusOr<T>& answer) {
    return core::ReasonOf(answer.status());
  }

  void StepBy(Micros step) { world_->StepNodeClock(step); }
  core::NodeTime NodeNow() { return world_->NodeNow(); }

  std::string RecordOf(const std::string& name) { return world_->RecordOf(name); }

  template <typename T>
  bool Await(const Answer<T>& answer) {
    return world_->Await([&answer] { return answer.answered(); });
  }

  // Starts something on the daemons' thread and waits for its answer.
  template <typename T, typename Start>
  absl::StatusOr<T> AskOnLoop(Start start) {
    Answer<T> answer;
    world_->OnLoop([&] {
      start(answer.Into());
      EXPECT_FALSE(answer.answered()) << "answered before the call returned";
    });
    if (!Await(answer)) return absl::DeadlineExceededError("the store did not answer at all");
    return answer.value();
  }

  std::unique_ptr<StoreWorld> world_ = GetParam().make();
};

inline std::string NameOf(const testing::TestParamInfo<WorldKind>& kind) { return kind.param.name; }

// Runs all tests of a fixture on each kind of store that this machine can have.
#define LOCKKEEPER_CONTRACT_SUITE(fixture) \
  INSTANTIATE_TEST_SUITE_P(Stores, fixture, testing::ValuesIn(WorldKinds()), NameOf)

}  // namespace lockkeeper::support
