// SPDX-License-Identifier: Apache-2.0
//
// A session over a store whose answers the test gives.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/domain.h"
#include "core/session.h"
#include "support/manual_executor.h"
#include "unit/core/pending_store.h"

namespace lockkeeper::core {

class RecordingListener final : public SessionListener {
 public:
  struct Answered {
    uint64_t id;
    OperationKind kind;
    absl::StatusOr<SessionAnswer> answer;
  };
  std::vector<Answered> answered;
  std::vector<std::string> kept_released;
  std::vector<FencingToken> kept_released_tokens;

  void OnAnswer(const AnsweredOperation& operation, absl::StatusOr<SessionAnswer> answer) override {
    answered.push_back({operation.id, operation.kind, std::move(answer)});
  }
  void OnKeptReleased(std::string_view lock_name, FencingToken token) override {
    kept_released.emplace_back(lock_name);
    kept_released_tokens.push_back(token);
  }
};

// What counts, by the names of the locks.
class RecordingCount final : public LeaseCount {
 public:
  bool is_on = true;
  std::set<std::string> kept;
  std::map<std::string, Instant>
      left;  // Or granted or extended without a session, with their ends.

  bool Kept(const std::string& name, const LeaseId& /*lease_id*/, Instant /*end*/) override {
    if (!is_on) return false;
    EXPECT_TRUE(kept.insert(name).second) << name << " is kept already";
    ended_.erase(name);
    return true;
  }
  void Left(const std::string& name, const LeaseId& lease_id, Instant end) override {
    EXPECT_EQ(kept.erase(name), 1U) << name << " was not kept";
    if (!ended_.contains(name)) Granted(name, lease_id, end, end);
  }
  void Granted(const std::string& name, const LeaseId& /*lease_id*/, Instant end,
               Instant /*now*/) override {
    left[name] = std::max(left[name], end);
  }
  void Extended(const std::string& name, const LeaseId& /*lease_id*/, Instant end) override {
    left[name] = std::max(left[name], end);
  }
  void Ended(const std::string& name, const LeaseId& /*lease_id*/) override {
    ended_.insert(name);
    left.erase(name);
  }

 private:
  std::set<std::string> ended_;
};

class SessionTest : public testing::Test {
 protected:
  static constexpr Millis kTtl{30'000};

  static LeaseId Id(const std::string& name) { return LeaseId::FromBits(1, name.front()); }

  static AcquireRequest Acquire(const std::string& name, Millis wait_timeout = Millis(0)) {
    AcquireRequest request;
    request.name = name;
    request.lease_id = Id(name);
    request.attempt = 1;
    request.ttl = kTtl;
    request.wait_timeout = wait_timeout;
    request.keeper = Keeper(7, static_cast<uint64_t>(name.front()));
    request.deadline = Instant::max();
    return request;
  }

  static ExtendRequest Extend(const std::string& name) {
    ExtendRequest request;
    request.name = name;
    request.lease_id = Id(name);
    request.deadline = Instant::max();
    return request;
  }

  // Of another session, or of none.
  static ExtendRequest Adoption(const std::string& name) {
    ExtendRequest request = Extend(name);
    request.token = FencingToken{42};
    request.keeper = Keeper::OfHolder(static_cast<uint64_t>(name.front()));
    return request;
  }

  static ExtendRequest Proved(const std::string& name) {
    ExtendRequest request = Extend(name);
    request.token = FencingToken{42};
    request.reassertion = "proof";
    return request;
  }

  static ReleaseRequest Release(const std::string& name) {
    return {.name = name, .lease_id = Id(name), .principal = {}, .deadline = Instant::max()};
  }

  static Lease Granted(const std::string& name) {
    Lease lease;
    lease.name = name;
    lease.lease_id = Id(name);
    lease.token = FencingToken{42};
    lease.ttl = kTtl;
    lease.remaining_ttl = kTtl;
    return lease;
  }

  static absl::Status Lost() { return Error(ErrorReason::kLeaseLost, "it has ended"); }
  static absl::Status Quarantined() { return Error(ErrorReason::kStoreQuarantined, "a loss"); }
  static absl::Status Away() { return Error(ErrorReason::kStoreUnavailable, "away"); }

  // One that may have so many leases.
  void OpenSession(size_t leases_max) {
    session_ = std::make_shared<Session>(locks_, clock_, "someone", listener_, count_, leases_max);
  }

  void Hold(const std::string& name) {
    session_->Run({1, Acquire(name)});
    store_.acquires.Answer(AcquireOutcome(Granted(name)));
  }

  // The client has been told of an offer, and may claim it.
  void TellOffer(const std::string& name) {
    AcquireRequest request = Acquire(name, std::chrono::seconds(60));
    request.claim = ClaimMode::kByClient;
    session_->Run({1, request});
    Lease offer = Granted(name);
    offer.offered = true;
    offer.remaining_ttl = std::chrono::seconds(1);
    store_.acquires.Answer(AcquireOutcome(offer));
  }

  void StartHeartbeat() {
    session_->Heartbeat([this](absl::StatusOr<HeartbeatAnswer> answer) {
      EXPECT_FALSE(beaten_);
      beaten_ = *std::move(answer);
    });
  }

  std::vector<std::string> NotExtendedNames() {
    std::vector<std::string> names;
    for (const NotExtended& lease : beaten_.value_or(HeartbeatAnswer()).not_extended) {
      names.push_back(lease.name);
    }
    return names;
  }

  void Pass(Millis time) { executor_.AdvanceBy(time); }

  support::ManualClock clock_;
  support::ManualExecutor executor_{clock_};
  PendingStore store_;
  RecordingObserver observer_;
  Domain domain_{store_, &store_, clock_, executor_, observer_, {}};
  LockManager& locks_ = domain_.locks();
  RecordingListener listener_;
  const std::shared_ptr<RecordingCount> count_ = std::make_shared<RecordingCount>();
  std::shared_ptr<Session> session_ =
      std::make_shared<Session>(locks_, clock_, "someone", listener_, count_);
  std::optional<HeartbeatAnswer> beaten_;
};

}  // namespace lockkeeper::core
