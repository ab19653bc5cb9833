// SPDX-License-Identifier: Apache-2.0
//
// One stream of a client: its operations, and the leases that they got, which one heartbeat of the
// client extends. docs/concepts/sessions.md says what clients may expect.
//
// A session keeps a lease from its grant, claim or adoption until this session releases it or finds
// it ended, or until the session ends. When the stream breaks, leases run on until they expire, and
// later grants are withdrawn, because nobody would hear of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "core/clock.h"
#include "core/errors.h"
#include "core/expiring_map.h"
#include "core/lease_count.h"
#include "core/limits.h"
#include "core/lock_manager.h"
#include "core/requests.h"
#include "core/session_leases.h"

namespace lockkeeper::core {

struct SessionOperation {
  uint64_t id = 0;  // The client's.
  std::variant<AcquireRequest, ExtendRequest, ReleaseRequest, FenceRequest> request;
};

enum class OperationKind { kAcquire, kExtend, kRelease, kFence };

// The answer to an operation of the kind at the same index of OperationKind.
using SessionAnswer = std::variant<AcquireAnswer, Lease, ReleaseAnswer, FenceAnswer>;

// What is known of an operation when it is answered.
struct AnsweredOperation {
  uint64_t id = 0;
  OperationKind kind = OperationKind::kAcquire;
  Instant arrived;  // At the loop.
  std::string name;
  std::optional<LeaseId> lease_id;  // Nothing in a fence.
  std::string owner;                // Of an acquire.
  FencingToken token{};             // Of the lease, if an extend has found that it has ended.
  std::optional<Keeper> keeper;     // Of an acquire, as it was asked for.
  TraceRef trace{};
};

// A lease that a heartbeat did not extend.
struct NotExtended {
  std::string name;
  LeaseId lease_id;
  // LEASE_LOST: the lease has ended. LEASE_LIMIT: it has reached its max_hold. Else only this
  // heartbeat failed.
  ErrorReason reason;
  FencingToken token;
};

// The result of a heartbeat. Each lease that it has extended has a new proof.
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

  // Session::ReleaseAll has released this lease.
  virtual void OnKeptReleased(std::string_view /*lock_name*/, FencingToken /*token*/) {}
};

// Completion: each operation is answered exactly once, unless the session has ended before. An
// operation that the session itself rejects is answered inside the call.
// Thread-safety: loop-thread only. Lifetime: borrows its collaborators, the listener until
// Break(); also owned by its operations in flight.
class Session : public std::enable_shared_from_this<Session> {
 public:
  // `principal` is the client's, and `count` counts its leases; null: nobody does. At most
  // `leases_max` leases and offers, including those that operations in flight may bring.
  Session(LockManager& locks, const Clock& clock, std::string principal, SessionListener& listener,
          std::shared_ptr<LeaseCount> count = nullptr,
          size_t leases_max = limits::kLeasesPerSessionMax)
      : locks_(locks),
        clock_(clock),
        principal_(std::move(principal)),
        count_(std::move(count)),
        leases_max_(leases_max),
        listener_(&listener) {}

  // Carries out an operation; `id` is the number that the client gave it. Operations on one lock
  // take effect in the order of these calls. Requires: the request has passed Validate(). Errors,
  // besides those of the request: LEASE_LIMIT; INVALID_FIELD if the id is in use.
  void Run(uint64_t id, AcquireRequest request);
  void Run(uint64_t id, ExtendRequest request);
  void Run(uint64_t id, ReleaseRequest request);
  void Run(uint64_t id, FenceRequest request);
  void Run(SessionOperation operation);

  // Cancels a waiting acquire. It is answered CANCELLED, or with its grant if that came first, or
  // with an error if the store did not answer.
  void Cancel(uint64_t operation_id);

  // Extends a lease and keeps it from now on, as the request's keeper: its former keeper can no
  // longer withdraw or release it. Errors: those of Extend; LEASE_LOST if it has another token;
  // LEASE_LIMIT, which may be answered inside the call.
  void Adopt(ExtendRequest request, Done<Lease> done);

  // Keeps a lease no longer: its client has given it up, and it runs to its end.
  void Forget(const std::string& name, const LeaseId& lease_id);

  // Extends, each by its own ttl, the leases that have less than 2/3 of it left. The answer names
  // those of them that do not have their whole ttl afterwards; the ended ones among them are not
  // kept any more. Requires: no heartbeat of this session is under way.
  void Heartbeat(Done<HeartbeatAnswer> done);

  // Acquires that wait leave the line; they are answered.
  void LeaveLines();

  // Releases all leases that nobody else has adopted or acquired again, and answers how many.
  void ReleaseAll(Done<int32_t> done);

  // The stream is gone: the listener is not called any more, and waiting acquires leave the line.
  void Break();

  size_t leases() const { return leases_.size(); }

 private:
  struct Waiting {
    Keeper keeper;
    bool cancelled = false;
  };
  struct Round;

  // Whether it has as many leases as it may, and the error for that: LEASE_LIMIT.
  bool IsFull();
  absl::Status Full() const;
  void Answer(const AnsweredOperation& operation, absl::StatusOr<SessionAnswer> answer);

  void OnAcquired(const AnsweredOperation& operation, int32_t attempt, const Keeper& keeper,
                  absl::StatusOr<AcquireAnswer> answer);
  // The same for an acquire that may have waited.
  void OnWaited(const AnsweredOperation& operation, int32_t attempt,
                absl::StatusOr<AcquireAnswer> answer);
  void OnExtended(AnsweredOperation operation, absl::StatusOr<Lease> lease);
  // `asked`: the earliest time at which the store may have been asked for the lease.
  void Keep(const Lease& lease, Instant asked, const Keeper& keeper);
  // When the lease ends if the store was asked then and answered at once.
  Instant EndOf(const Lease& lease, Instant asked) const;
  // When it ends if the store has answered just now: the latest that is possible.
  Instant CountedEndOf(const Lease& lease) const;
  // Neither the lease nor an offer of it is kept any more. Nothing if the lease was not kept.
  std::optional<SessionLeases::Dropped> Drop(const std::string& name, const LeaseId& lease_id);
  // What follows tells `count_`. `dropped`: this session kept the lease, and does so no longer.
  void CountKept(SessionLeases::Held& held, Instant end);
  void CountLeft(const std::string& name, const LeaseId& lease_id,
                 const SessionLeases::Dropped& dropped);
  void CountExtended(const Lease& lease);
  void CountEnded(const std::string& name, const LeaseId& lease_id,
                  const std::optional<SessionLeases::Dropped>& dropped = std::nullopt);
  void ExtendNext(const std::shared_ptr<Round>& round);
  void ExtendedNow(SessionLeases::Ref held, const Lease& lease, Instant asked);
  void NotExtendedNow(Round& round, SessionLeases::Ref held, const absl::Status& status);
  void ReleaseNext(const std::shared_ptr<Round>& round);

  LockManager& locks_;
  const Clock& clock_;
  const std::string principal_;
  const std::shared_ptr<LeaseCount> count_;
  const size_t leases_max_;
  SessionListener* listener_;  // Null once the stream is gone.
  SessionLeases leases_;
  size_t asked_for_ = 0;                           // Acquires and adoptions under way.
  std::unordered_map<uint64_t, Waiting> waiting_;  // Acquires that may wait, by operation id.
  // Keepers of offers that this session may claim, by lease id and name. A client may be slow to
  // read an offer; the store makes it again until the place in line has been left.
  ExpiringMap<std::string, Keeper> offers_{Withdrawals::kLeaveTriedFor};
};

}  // namespace lockkeeper::core
