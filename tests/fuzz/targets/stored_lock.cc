// SPDX-License-Identifier: Apache-2.0
//
// A lock as it is found in Redis: its record and, each after a byte 0, scores and members of its
// line. The scripts run on it, and every operation gets an answer that is meant for clients.
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/errors.h"
#include "fuzz/target.h"
#include "redis/redis_store.h"
#include "support/fake_node/fake_node.h"
#include "support/fake_node/lua_scripts.h"
#include "support/fake_node/redis_model.h"
#include "support/manual_clock.h"
#include "support/manual_executor.h"
#include "support/silent_guard_observer.h"
#include "support/trusting_guard.h"

namespace lockkeeper {
namespace {

using core::ErrorReason;
using fuzz::Require;

constexpr char kName[] = "orders/7";
// When the locks of the corpus were found.
constexpr core::NodeTime kFoundAt{1'795'444'131'000'000};
const core::LeaseId kId = *core::LeaseId::Parse("00112233445566778899aabbccddeeff");

// A daemon's store on a server that holds the lock as it was found.
class FoundLock {
 public:
  FoundLock(support::LuaScripts& lua, std::string_view record, std::string_view line)
      : server_(lua, clock_) {
    server_.LoadCompiledScripts();
    server_.clock().StepBy(core::Micros(kFoundAt.micros - server_.clock().Now().micros));
    const redis::KeyLayout keys("lk:");
    const std::string key = keys.RecordKey(kName);
    const std::string line_key = redis::KeyLayout::LineKeyOf(key);
    server_.Execute(std::vector<std::string_view>{"SET", key, record});
    while (!line.empty()) {
      const std::string_view score = fuzz::TakeField(line);
      server_.Execute(
          std::vector<std::string_view>{"ZADD", line_key, score, fuzz::TakeField(line)});
    }
  }

  // What `ask` answers, which it does.
  template <typename T, typename Ask>
  std::optional<absl::Status> Outcome(Ask ask) {
    std::optional<absl::Status> status;
    ask(core::Done<T>([&status](absl::StatusOr<T> answer) { status = answer.status(); }));
    executor_.AdvanceUntil([&status] { return status.has_value(); }, std::chrono::seconds(30));
    Require(status.has_value(), "every operation is answered");
    const auto reason = core::ReasonOf(*status);
    Require(status->ok() || reason, "every error has a reason");
    Require(reason != ErrorReason::kOutcomeUnknown, "a script does not fail");
    Require(reason != ErrorReason::kStoreUnavailable, "the store is there");
    Require(reason != ErrorReason::kInvariantViolated, "a script answers what it says it does");
    return status;
  }

  core::LockStore& locks() { return store_.locks(); }
  core::WaitingLine& line() { return store_.line(); }
  core::AdminStore& admin() { return store_.admin(); }
  core::Instant deadline() const { return clock_.Now() + std::chrono::seconds(20); }

 private:
  support::ManualClock clock_;
  support::ManualExecutor executor_{clock_};
  support::RedisModel server_;
  support::FakeNode node_{server_, clock_, executor_};
  support::SilentGuardObserver observer_;
  redis::RedisStore store_{node_,
                           clock_,
                           executor_,
                           observer_,
                           {.daemon_id = "00000000000000da"},
                           std::make_unique<support::TrustingGuard>()};
};

// About the lock, and the lease of kId if a request names one.
template <typename Request>
Request RequestOf(const FoundLock& lock) {
  Request request;
  request.name = kName;
  if constexpr (requires { request.lease_id; }) request.lease_id = kId;
  request.deadline = lock.deadline();
  return request;
}

core::AcquireRequest AcquireOf(const FoundLock& lock) {
  auto request = RequestOf<core::AcquireRequest>(lock);
  request.ttl = core::Millis(5'000);
  request.keeper = core::Keeper(0xda, 1);
  return request;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static auto* const kLua = new support::LuaScripts;  // Compiles each script once.
  std::string_view rest = fuzz::TextOf(data, size);
  const std::string_view record = fuzz::TakeField(rest);
  {
    FoundLock lock(*kLua, record, rest);
    lock.Outcome<std::optional<core::LockInfo>>(
        [&](auto done) { lock.admin().Get(kName, lock.deadline(), std::move(done)); });
    lock.Outcome<core::FenceAnswer>([&](auto done) {
      auto request = RequestOf<core::FenceRequest>(lock);
      request.token = core::FencingToken{1};
      lock.locks().Fence(request, std::move(done));
    });
    lock.Outcome<core::Lease>([&](auto done) {
      lock.locks().Extend(RequestOf<core::ExtendRequest>(lock), std::move(done));
    });
    lock.Outcome<core::ReleaseAnswer>([&](auto done) {
      lock.locks().Release(RequestOf<core::ReleaseRequest>(lock), std::move(done));
    });
    lock.Outcome<core::AcquireAnswer>(
        [&](auto done) { lock.locks().Acquire(AcquireOf(lock), std::move(done)); });
  }
  FoundLock lock(*kLua, record, rest);
  lock.Outcome<core::AcquireOutcome>([&](auto done) {
    core::AcquireRequest request = AcquireOf(lock);
    request.wait_timeout = core::Millis(1'000);
    lock.line().Stand(request, 0, std::move(done));
  });
  lock.Outcome<core::ForceReleaseAnswer>([&](auto done) {
    lock.admin().ForceRelease({kName, core::ReleaseDelay::kNone, lock.deadline()}, std::move(done));
  });
  return 0;
}

}  // namespace lockkeeper
