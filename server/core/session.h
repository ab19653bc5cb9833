// SPDX-License-Identifier: Apache-2.0
//
// What one stream of a client does: its operations, and the leases that they were granted, which
// one heartbeat of the client keeps alive. docs/concepts/sessions.md tells what clients may expect.
//
// A lease is kept from its grant, its claim or its adoption until it is released in this session,
// found ended, or the session ends. When the stream breaks, leases run on to their ttl, and what is
// granted later is withdrawn: nobody would hear of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "core/clock.h"
#include "core/errors.h"
#include "core/expiring_map.h"
#include "core/lock_manager.h"
#include "core/requests.h"
#include "core/session_leases.h"

namespace lockkeeper::core {

struct SessionOperation {
  uint64_t id = 0;  // The client's.
  std::variant<AcquireRequest, ExtendRequest, ReleaseRequest, FenceRequest> request;
};

enum class OperationKind { kAcquire, kExtend, kRelease, kFence };

// Of an operation of the kind that has the same place.
using SessionAnswer = std::variant<AcquireAnswer, Lease, ReleaseAnswer, FenceAnswer>;

// An operation, when it is answered.
struct AnsweredOperation {
  uint64_t id = 0;
  OperationKind kind = OperationKind::kAcquire;
  Instant arrived;  // At the loop.
  std::string name;
  std::optional<LeaseId> lease_id;  // Nothing in a fence.
  std::string owner;                // Of an acquire.
};

// A lease that a heartbeat did not extend.
struct NotExtended {
  std::string name;
  LeaseId lease_id;
  // LEASE_LOST: it has ended. LEASE_LIMIT: it is at its max_hold. Else only this heartbeat failed.
  ErrorReason reason;
};

// What a heartbeat came to. Of the leases that it has extended each has a new proof.
struct HeartbeatAnswer {
  struct Proof {
    LeaseId lease_id;
    std::string reassertion;
  };
  std::vector<NotExtended> not_extended;
  std::vector<Proof> proofs;
};

// Thread-safety: called on the loop's thread.
class SessionListener {
 public:
  virtual ~SessionListener() = default;

  virtual void OnAnswer(const AnsweredOperation& operation,
                        absl::StatusOr<SessionAnswer> answer) = 0;
};

// Completion: each operation is answered exactly once, unless the session has ended before.
// Thread-safety: loop-thread only. Lifetime: borrows its collaborators, the listener until
// Break(); held by what is under way besides its owner.
class Session : public std::enable_shared_from_this<Session> {
 public:
  // `principal` is the client's.
  Session(LockManager& locks, const Clock& clock, std::string principal, SessionListener& listener)
      : locks_(locks), clock_(clock), principal_(std::move(principal)), listener_(&listener) {}

  // Carries an operation out, which has the client's number `id`. Operations on one lock take
  // effect in the order of these calls. Requires: the request has passed Validate().
  // Errors, besides those of the request: LEASE_LIMIT; INVALID_FIELD if the id is in use.
  void Run(uint64_t id, AcquireRequest request);
  void Run(uint64_t id, ExtendRequest request);
  void Run(uint64_t id, ReleaseRequest request);
  void Run(uint64_t id, FenceRequest request);
  void Run(SessionOperation operation);

  // Ends a waiting acquire, which is answered CANCELLED, or with what came before.
  void Cancel(uint64_t operation_id);

  // Extends a lease and keeps it from now on, as the request's keeper: whoever had it before gives
  // it up no more. Errors: those of Extend; LEASE_LOST if it has another token.
  void Adopt(ExtendRequest request, Done<Lease> done);

  // Extends, each for its own ttl, the leases that have less than 2/3 of it left. Answers those
  // that have not got so much; the ended ones among them are kept no longer. Requires: no heartbeat
  // of this session is under way.
  void Heartbeat(Done<HeartbeatAnswer> done);

  // Acquires that wait leave the line; they are answered.
  void LeaveLines();

  // Releases all leases that nobody else has adopted or acquired again, and answers how many.
  void ReleaseAll(Done<int32_t> done);

  // The stream is gone: nobody is called any more, acquires that wait leave the line.
  void Break();

  size_t leases() const { return leases_.size(); }

 private:
  struct Waiting {
    Keeper keeper;
    bool cancelled = false;
  };
  struct Round;

  void Answer(const AnsweredOperation& operation, absl::StatusOr<SessionAnswer> answer);

  void OnAcquired(const AnsweredOperation& operation, int32_t attempt, const Keeper& keeper,
                  absl::StatusOr<AcquireAnswer> answer);
  // The same for one that may have waited.
  void OnWaited(const AnsweredOperation& operation, int32_t attempt,
                absl::StatusOr<AcquireAnswer> answer);
  void OnExtended(const AnsweredOperation& operation, absl::StatusOr<Lease> lease);
  // `asked` is when the store was asked for it at the earliest.
  void Keep(const Lease& lease, Instant asked, const Keeper& keeper);
  Instant EndOf(const Lease& lease, Instant asked) const;
  void ExtendNext(const std::shared_ptr<Round>& round);
  void NotExtendedNow(Round& round, SessionLeases::Ref held, const absl::Status& status);
  void ReleaseNext(const std::shared_ptr<Round>& round);

  LockManager& locks_;
  const Clock& clock_;
  const std::string principal_;
  SessionListener* listener_;  // Null once the stream is gone.
  SessionLeases leases_;
  size_t acquiring_ = 0;
  std::unordered_map<uint64_t, Waiting> waiting_;  // Acquires that may wait, by operation id.
  // Keepers of offers that this session may claim, by lease id and name. Its client may be slow to
  // read of one: the store makes it anew until the place in line has been left.
  ExpiringMap<std::string, Keeper> offers_{Withdrawals::kLeaveTriedFor};
};

}  // namespace lockkeeper::core
