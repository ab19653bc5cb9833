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

// What counts, by the names of the locks: until which end, and whether the session keeps it.
class RecordingCount final : public LeaseCount {
 public:
  bool is_on = true;

  std::vector<std::string> KeptNames() const {
    std::vector<std::string> names;
    for (const auto& [name, counted] : counted_) {
      if (counted.is_kept) names.push_back(name);
    }
    return names;
  }
  std::map<std::string, Instant> Left() const {
    std::map<std::string, Instant> left;
    for (const auto& [name, counted] : counted_) {
      if (!counted.is_kept) left[name] = counted.end;
    }
    return left;
  }

  bool Kept(const std::string& name, const LeaseId& /*lease_id*/, Instant end) override {
    if (!is_on) return false;
    Counted& counted = counted_[name];
    EXPECT_FALSE(counted.is_kept) << name << " is kept already";
    counted = {.end = std::max(counted.end, end), .is_kept = true};
    return true;
  }
  void Left(const std::string& name, const LeaseId& /*lease_id*/, Instant end,
            Instant /*now*/) override {
    Counted& counted = counted_[name];
    EXPECT_TRUE(counted.is_kept) << name << " was not kept";
    counted.is_kept = false;
    counted.end = std::max(counted.end, end);
    if (counted.has_ended) counted_.erase(name);
  }
  void Granted(const std::string& name, const LeaseId& /*lease_id*/, Instant end,
               Instant /*now*/) override {
    counted_[name].end = std::max(counted_[name].end, end);
  }
  void Extended(const std::string& name, const LeaseId& lease_id, Instant end) override {
    if (!counted_.contains(name)) return;
    counted_[name].has_ended = false;
    Granted(name, lease_id, end, end);
  }
  void Ended(const std::string& name, const LeaseId& /*lease_id*/) override {
    const auto found = counted_.find(name);
    if (found == counted_.end()) return;
    found->second.has_ended = true;
    if (!found->second.is_kept) counted_.erase(found);
  }

 private:
  struct Counted {
    Instant end;
    bool is_kept = false;
    bool has_ended = false;
  };
  std::map<std::string, Counted> counted_;
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
