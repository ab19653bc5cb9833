// SPDX-License-Identifier: Apache-2.0
//
// A lock store in memory, without a line of waiters: the proof that the port asks for nothing that
// only Redis has. It does what every store has to do (tests/contract) in the plainest way.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "core/clock.h"
#include "core/executor.h"
#include "core/lock_store.h"
#include "core/requests.h"

namespace lockkeeper::support {

// What all daemons share: the locks, and the clock that decides. Each operation is one atomic step.
//
// Thread-safety: not thread-safe. Lifetime: borrows the clock.
class MemoryServer {
 public:
  // How a lease id was used up. kAttempts: only its attempts up to a number.
  enum class Void { kAttempts, kReleased, kExpired, kUnknown };
  struct VoidEntry {
    Void kind = Void::kAttempts;
    int32_t attempt = 0;
  };

  // `end` says how the last lease ended; kNone while it runs, and if there was none.
  struct Record {
    core::AcquireRequest last;  // Of the last lease. Its keeper, attempt and ttl are the lease's.
    core::FencingToken token;
    core::NodeTime acquired;
    core::NodeTime lease_end;
    core::NodeTime closed_until;
    core::NodeTime max_hold_end{INT64_MAX};
    core::LeaseEnd end = core::LeaseEnd::kNone;
    bool token_is_nobodys = false;  // Raised by an administrator.
    bool previous_expired = false;  // The lease before the last one.
    std::map<core::LeaseId, VoidEntry> voids;
    core::NodeTime kept_until;
  };

  MemoryServer(const core::Clock& clock, core::Millis retention)
      : clock_(clock), retention_(retention) {}

  // See LockStore and AdminStore. A new token is above `seen`, the highest one that the daemon has
  // seen: it knows of tokens that the server has forgotten.
  absl::StatusOr<core::AcquireAnswer> Acquire(const core::AcquireRequest& request,
                                              core::FencingToken seen);
  absl::StatusOr<core::Lease> Extend(const core::ExtendRequest& request);
  core::ReleaseAnswer Release(const core::ReleaseRequest& request);
  core::WithdrawResult Withdraw(const core::WithdrawRequest& request);
  core::FenceAnswer Fence(const core::FenceRequest& request);
  std::optional<core::LockInfo> Get(const std::string& name);
  core::ForceReleaseAnswer ForceRelease(const core::ForceReleaseRequest& request,
                                        core::FencingToken seen);

  core::NodeTime Now() const;
  void StepBy(core::Micros step) { offset_ += step; }
  void ForgetEverything() { records_.clear(); }

  // Null if there is no record, or no longer.
  Record* Find(const std::string& name);
  int64_t RecordsKept();
  // All that is known of the lock, as text.
  std::string Describe(const std::string& name);

 private:
  // Makes a record if there is none. It is kept for the retention after the end of its lease.
  Record& Touch(const std::string& name);
  bool IsLive(const Record& record) const;
  core::FencingToken NextToken(const Record* record, core::FencingToken seen) const;
  core::Lease LeaseOf(const Record& record) const;
  core::Lease Grant(const core::AcquireRequest& request, core::FencingToken token);
  void End(const std::string& name, core::LeaseEnd how, core::Micros closed_for = {});

  const core::Clock& clock_;
  const core::Millis retention_;
  core::Micros offset_{};
  std::map<std::string, Record> records_;
};

// One daemon's way to the server. Contract: see LockStore and AdminStore; it lists no locks.
class MemoryStore final : public core::LockStore, public core::AdminStore {
 public:
  MemoryStore(MemoryServer& server, core::Executor& executor)
      : server_(server), executor_(executor) {}

  void Acquire(const core::AcquireRequest& request, core::Done<core::AcquireAnswer> done) override;
  void Extend(const core::ExtendRequest& request, core::Done<core::Lease> done) override;
  void Release(const core::ReleaseRequest& request, core::Done<core::ReleaseAnswer> done) override;
  void Confirm(const std::string& name, core::Assurance wanted, core::Instant deadline,
               core::ConfirmDone done) override;
  void Withdraw(const core::WithdrawRequest& request,
                core::Done<core::WithdrawResult> done) override;
  void Fence(const core::FenceRequest& request, core::Done<core::FenceAnswer> done) override;

  void Get(const std::string& name, core::Instant deadline,
           core::Done<std::optional<core::LockInfo>> done) override;
  void List(const core::ListRequest& request, core::Done<core::LockPage> done) override;
  void ForceRelease(const core::ForceReleaseRequest& request,
                    core::Done<core::ForceReleaseAnswer> done) override;
  void EndQuarantine(const core::EndQuarantineRequest& request,
                     core::Done<core::EndQuarantineAnswer> done) override;

 private:
  template <typename T>
  void AnswerLater(core::Done<T> done, absl::StatusOr<T> answer);

  MemoryServer& server_;
  core::Executor& executor_;
  core::FencingToken seen_;  // The highest token that it was answered.
};

}  // namespace lockkeeper::support
