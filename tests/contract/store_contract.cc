// SPDX-License-Identifier: Apache-2.0
#include "contract/store_contract.h"

namespace lockkeeper::support {

using core::AcquireOutcome;
using core::Lease;

LeaseId StoreContract::Id(uint64_t number) {
  return LeaseId::FromBits(0x9e3779b97f4a7c15 * (number + 1), 0xbf58476d1ce4e5b9 * (number + 1));
}

core::AcquireRequest StoreContract::AcquireOf(const std::string& name, const LeaseId& id) {
  core::AcquireRequest request;
  request.name = name;
  request.lease_id = id;
  request.attempt = 1;
  request.ttl = kTtl;
  request.owner = "owner of " + std::string(id.digits().substr(0, 4));
  request.keeper = KeeperOf(1);
  request.deadline = Deadline();
  return request;
}

core::ExtendRequest StoreContract::ExtendOf(const std::string& name, const LeaseId& id,
                                            Millis ttl) {
  core::ExtendRequest request;
  request.name = name;
  request.lease_id = id;
  request.ttl = ttl;
  request.deadline = Deadline();
  return request;
}

core::ReleaseRequest StoreContract::ReleaseOf(const std::string& name, const LeaseId& id) {
  return {.name = name, .lease_id = id, .principal = "", .deadline = Deadline()};
}

core::WithdrawRequest StoreContract::WithdrawOf(const core::AcquireRequest& of) {
  return {of.name, of.lease_id, of.attempt, of.keeper, Deadline()};
}

core::FenceRequest StoreContract::FenceOf(const std::string& name, core::FencingToken token,
                                          core::LeaseLiveness liveness) {
  return {name, token, liveness, Deadline()};
}

absl::StatusOr<AcquireOutcome> StoreContract::Ask(const core::AcquireRequest& request,
                                                  size_t daemon, int64_t old_number) {
  const Ports ports = world_->ports(daemon);
  if (request.wait_timeout > Millis(0)) {
    return AskOnLoop<AcquireOutcome>([&](core::Done<AcquireOutcome> done) {
      ports.line->Stand(request, old_number, std::move(done));
    });
  }
  const auto answer = AskOnLoop<core::AcquireAnswer>(
      [&](core::Done<core::AcquireAnswer> done) { ports.locks.Acquire(request, std::move(done)); });
  if (!answer.ok()) return answer.status();
  return std::visit([](const auto& is) { return AcquireOutcome(is); }, *answer);
}

absl::StatusOr<Lease> StoreContract::Ask(const core::ExtendRequest& request) {
  return AskOnLoop<Lease>(
      [&](core::Done<Lease> done) { world_->ports(0).locks.Extend(request, std::move(done)); });
}

absl::StatusOr<core::ReleaseAnswer> StoreContract::Ask(const core::ReleaseRequest& request) {
  return AskOnLoop<core::ReleaseAnswer>([&](core::Done<core::ReleaseAnswer> done) {
    world_->ports(0).locks.Release(request, std::move(done));
  });
}

absl::StatusOr<core::WithdrawResult> StoreContract::Ask(const core::WithdrawRequest& request) {
  return AskOnLoop<core::WithdrawResult>([&](core::Done<core::WithdrawResult> done) {
    world_->ports(0).locks.Withdraw(request, std::move(done));
  });
}

absl::StatusOr<core::FenceAnswer> StoreContract::Ask(const core::FenceRequest& request) {
  return AskOnLoop<core::FenceAnswer>([&](core::Done<core::FenceAnswer> done) {
    world_->ports(0).locks.Fence(request, std::move(done));
  });
}

absl::StatusOr<core::ForceReleaseAnswer> StoreContract::Ask(
    const core::ForceReleaseRequest& request) {
  return AskOnLoop<core::ForceReleaseAnswer>([&](core::Done<core::ForceReleaseAnswer> done) {
    world_->ports(0).admin.ForceRelease(request, std::move(done));
  });
}

absl::StatusOr<core::LockPage> StoreContract::Ask(const core::ListRequest& request) {
  return AskOnLoop<core::LockPage>([&](core::Done<core::LockPage> done) {
    world_->ports(0).admin.List(request, std::move(done));
  });
}

absl::StatusOr<std::optional<core::LockInfo>> StoreContract::AskGet(const std::string& name) {
  return AskOnLoop<std::optional<core::LockInfo>>(
      [&](core::Done<std::optional<core::LockInfo>> done) {
        world_->ports(0).admin.Get(name, Deadline(), std::move(done));
      });
}

Lease StoreContract::Grant(const core::AcquireRequest& request, size_t daemon) {
  const absl::StatusOr<AcquireOutcome> outcome = Ask(request, daemon);
  if (outcome.ok() && std::holds_alternative<Lease>(*outcome)) return std::get<Lease>(*outcome);
  ADD_FAILURE() << "lock '" << request.name << "' was not granted: " << outcome.status();
  return {};
}

core::Contention StoreContract::Contend(const core::AcquireRequest& request) {
  const absl::StatusOr<AcquireOutcome> outcome = Ask(request);
  if (outcome.ok() && std::holds_alternative<core::Contention>(*outcome)) {
    return std::get<core::Contention>(*outcome);
  }
  ADD_FAILURE() << "lock '" << request.name << "' answers no contention: " << outcome.status();
  return {};
}

Lease StoreContract::Extend(const core::ExtendRequest& request) {
  const absl::StatusOr<Lease> lease = Ask(request);
  EXPECT_TRUE(lease.ok()) << lease.status();
  return lease.ok() ? *lease : Lease();
}

core::NotReleasedReason StoreContract::Release(const std::string& name, const LeaseId& id) {
  const absl::StatusOr<core::ReleaseAnswer> answer = Ask(ReleaseOf(name, id));
  EXPECT_TRUE(answer.ok()) << answer.status();
  return answer.value_or(core::ReleaseAnswer()).not_released;
}

core::WithdrawResult StoreContract::Withdraw(const core::AcquireRequest& of) {
  const absl::StatusOr<core::WithdrawResult> result = Ask(WithdrawOf(of));
  EXPECT_TRUE(result.ok()) << result.status();
  return result.value_or(core::WithdrawResult::kKept);
}

core::WithdrawResult StoreContract::ReleaseKept(const core::AcquireRequest& of,
                                                const core::Keeper& keeper) {
  core::WithdrawRequest request = WithdrawOf(of);
  request.attempt = 0;
  request.keeper = keeper;
  request.scope = core::WithdrawScope::kRelease;
  const absl::StatusOr<core::WithdrawResult> result = Ask(request);
  EXPECT_TRUE(result.ok()) << result.status();
  return result.value_or(core::WithdrawResult::kNotGranted);
}

core::FenceAnswer StoreContract::Fence(const core::FenceRequest& request) {
  const absl::StatusOr<core::FenceAnswer> answer = Ask(request);
  EXPECT_TRUE(answer.ok()) << answer.status();
  return answer.value_or(core::FenceAnswer());
}

core::ForceReleaseAnswer StoreContract::ForceRelease(const std::string& name,
                                                     core::ReleaseDelay delay) {
  const absl::StatusOr<core::ForceReleaseAnswer> answer =
      Ask(core::ForceReleaseRequest{name, delay, Deadline()});
  EXPECT_TRUE(answer.ok()) << answer.status();
  return answer.value_or(core::ForceReleaseAnswer());
}

core::LockInfo StoreContract::Get(const std::string& name) {
  const absl::StatusOr<std::optional<core::LockInfo>> info = AskGet(name);
  EXPECT_TRUE(info.ok()) << info.status();
  if (info.ok() && *info) return **info;
  ADD_FAILURE() << "there is no lock '" << name << "'";
  return {};
}

}  // namespace lockkeeper::support
