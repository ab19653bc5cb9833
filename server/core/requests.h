// SPDX-License-Identifier: Apache-2.0
//
// What a caller asks of the domain and what it answers, after conversion and validation. The
// fields mean what proto/lockkeeper/v1 says of them. Errors travel as absl::Status, see errors.h;
// contention and a refused fence are answers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/trace.h"
#include "core/types.h"

namespace lockkeeper::core {

using Labels = std::vector<std::pair<std::string, std::string>>;

enum class ClaimMode { kByDaemon, kByClient };

struct AcquireRequest {
  std::string name;
  LeaseId lease_id;
  int32_t attempt = 0;
  Millis ttl{};
  Millis wait_timeout{};
  std::string owner;
  Labels labels;
  Millis lock_delay{};
  Millis max_hold{};       // Zero: no bound.
  Millis hold_at_least{};  // Zero: none.
  ClaimMode claim = ClaimMode::kByDaemon;
  Assurance min_assurance = Assurance::kNone;
  std::string principal;  // Empty without authentication.
  Keeper keeper;          // Of the call or session that carries this acquire.
  Instant deadline;       // Of the rpc; Instant::max() if it has none.
  TraceRef trace{};

  // How long its grant keeps the lock closed if nobody extends the lease.
  Millis ClosesFor() const { return std::max(ttl + lock_delay, hold_at_least); }
};

// A place in the line of a lock.
struct Place {
  int64_t number = 0;  // Arrival number: the order in which waiters are served. 0: not known.
  int64_t line = 0;    // Identifies the line. After a loss the lock gets another one.
};

struct Lease {
  std::string name;
  LeaseId lease_id;
  FencingToken token;
  Millis ttl{};
  Micros remaining_ttl{};
  NodeTime lease_end;
  Micros waited{};
  bool previous_lease_expired = false;
  bool offered = false;
  Assurance assurance = Assurance::kNone;
  std::string reassertion;  // Proof of it until it ends. Empty in an offer.
  bool claimed = false;     // Of an extend: it claimed the lease, or its client may not know yet.
  bool reasserted = false;  // The store had forgotten it, and took it back by its proof.
  // Of an extend: what its client has asked for (min_assurance), if it has claimed the lease and
  // may not have been told of it. Else kNone.
  Assurance asked = Assurance::kNone;
  Place place;  // Of an offer: its waiter keeps it until it claims.
};

enum class ContentionReason { kHeld = 1, kWaitTimedOut = 2, kCancelled = 3, kClosed = 4 };

struct Contention {
  ContentionReason reason = ContentionReason::kHeld;
  std::string holder_owner;
  Micros remaining_ttl{};
  int32_t position = 0;
  int32_t waiters = 0;
};

using AcquireAnswer = std::variant<Lease, Contention>;

struct ExtendRequest {
  std::string name;
  LeaseId lease_id;
  Millis ttl{};        // Zero: as granted.
  FencingToken token;  // Zero: not given.
  std::string reassertion;
  std::string principal;
  Instant deadline;
  std::optional<Keeper> keeper;  // Of the session that adopts the lease by this. Else nothing.
  bool is_heartbeat = false;  // Its client knows that it has the lease, and hears of its end only.
  TraceRef trace{};
};

struct ReleaseRequest {
  std::string name;
  LeaseId lease_id;
  std::string principal;
  Instant deadline;
  TraceRef trace{};
};

enum class NotReleasedReason { kNone = 0, kExpired = 1, kNotHolder = 2, kWaiterRemoved = 3 };

struct ReleaseAnswer {
  NotReleasedReason not_released = NotReleasedReason::kNone;
  // Of the lease that this released; zero if an earlier one did.
  Micros held{};  // How long it was held.
  FencingToken token{};

  bool released() const { return not_released == NotReleasedReason::kNone; }
};

enum class LeaseLiveness { kAny, kRequired };

struct FenceRequest {
  std::string name;
  FencingToken token;
  LeaseLiveness liveness = LeaseLiveness::kAny;
  Instant deadline;
  TraceRef trace{};
};

enum class Verdict { kAdmitted = 1, kStale = 2, kExpired = 3, kUnknownToken = 4 };

struct FenceAnswer {
  Verdict verdict = Verdict::kUnknownToken;
  FencingToken newest;
};

// What a withdrawal may take back.
enum class WithdrawScope {
  kLeaseToo,       // Anything.
  kUnclaimedOnly,  // An offer or a place in line, not a lease.
  kSetAside,  // An offer, as if it had lapsed: its place is kept, but not offered the lock again
              // until its client acquires again.
  kPutBack,   // An offer, as if it had not been made: its waiter is next again.
  kRelease,   // A lease, which ends as if its holder had released it.
  kClaim,     // A lease, whoever keeps it, of which nobody was told since its client claimed it.
  kPassOver,  // As kSetAside, of one offer, whose waiter goes on waiting.
  kLetClaimStand,  // Nothing more, with kClaim: its client is told of the lease now.
};

// Takes back a grant whose caller is gone, of which too little was confirmed, or which a session
// has kept until its end. Does nothing unless `keeper` still keeps it; of kClaim, whoever does.
struct WithdrawRequest {
  std::string name;
  LeaseId lease_id;
  int32_t attempt = 0;
  Keeper keeper;
  Instant deadline;
  WithdrawScope scope = WithdrawScope::kLeaseToo;
  FencingToken token;  // Of the offer or the lease, of kPutBack, kPassOver and the two of claims.
};

enum class ReleaseDelay { kHoldersRemainingTtl, kNone };

struct ForceReleaseRequest {
  std::string name;
  ReleaseDelay delay = ReleaseDelay::kHoldersRemainingTtl;
  Instant deadline;
};

struct ForceReleaseAnswer {
  bool released = false;
  FencingToken token;
  Micros closed_for{};
  std::string holder_owner;
  bool opened = false;  // No lease was live: the lock was closed without one, and is open now.
};

// Ends the quarantine of one epoch of the store.
struct EndQuarantineRequest {
  int64_t epoch = 0;  // A quarantine of another epoch goes on.
  Instant deadline;
};

struct EndQuarantineAnswer {
  bool ended = false;
  int64_t epoch = 0;  // The one that the store is in.
  Micros left{};      // Of the quarantine that was ended, or else of the one that goes on.
};

enum class LockState { kHeld = 1, kOffered = 2, kEnded = 3, kUnproven = 4 };
enum class LeaseEnd { kNone = 0, kReleased = 1, kExpired = 2, kForced = 3, kWithdrawn = 4 };

// A lease of a lock that has ended.
struct FormerLease {
  FencingToken token;
  std::string owner;  // Or its beginning.
  LeaseEnd end = LeaseEnd::kNone;
  NodeTime ended;

  friend bool operator==(const FormerLease&, const FormerLease&) = default;
};

// One lock as the store knows it, for administrators.
struct LockInfo {
  std::string name;
  LockState state = LockState::kEnded;
  FencingToken token;
  std::string owner;
  std::string principal;
  Labels labels;
  Millis ttl{};
  Millis lock_delay{};
  Millis max_hold{};       // Zero: no bound.
  Millis hold_at_least{};  // Zero: none.
  Micros remaining_ttl{};
  Micros closed_for{};
  NodeTime acquired;
  NodeTime lease_end;
  int32_t waiters = 0;
  LeaseEnd last_end = LeaseEnd::kNone;
  uint64_t lease = 0;                // See LockEvent::lease.
  std::vector<FormerLease> history;  // The newest first.
};

enum class EndedLocks { kLeaveOut, kInclude };

struct ListRequest {
  std::string prefix;
  int32_t page_size = 0;
  std::string page_token;
  EndedLocks ended = EndedLocks::kLeaveOut;
  Instant deadline;
};

struct LockPage {
  std::vector<LockInfo> locks;
  std::string next_page_token;
  int32_t unreadable = 0;
};

}  // namespace lockkeeper::core
