// SPDX-License-Identifier: Apache-2.0
//
// Why a call failed. Every error of the client is an absl::Status. An error from the server carries
// a reason, which the functions below read. Switch on the reason, never on the message text.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace lockkeeper {

// Why a call failed. The numbers up to 999 are those of lockkeeper.v1.ErrorReason, which says more
// about each; the others are made by the client.
enum class ErrorReason {
  kInvalidField = 1,         // A field is missing, malformed or beyond its limit; see FieldOf.
  kLeaseLost = 2,            // The lease has ended or was never held.
  kLeaseEnded = 3,           // The lease id of an acquire was released or used up.
  kStoreUnavailable = 4,     // The store is away; the call had no effect.
  kOutcomeUnknown = 5,       // The call may have taken effect.
  kQuorumNotReached = 6,     // Too few nodes agreed.
  kAssuranceNotReached = 7,  // Fewer replicas or disks confirmed than asked.
  kStoreQuarantined = 8,     // The store may have lost state; nothing new is granted for a while.
  kServerDraining = 9,       // The server is stopping.
  kWaiterLimit = 10,         // Too many waiters.
  kLeaseLimit = 11,          // Too many leases.
  kRateLimit = 12,           // Too many calls at once.
  kStoreCorrupt = 13,        // The record of the lock cannot be parsed.
  kFormatTooNew = 14,        // The record of the lock was written by a newer version.
  kInvariantViolated = 15,   // The server has a bug.
  kUnauthenticated = 16,     // The credentials of this client prove nothing to the server.
  kPermissionDenied = 17,    // The server's policy does not allow it.
  kAuditUnavailable = 18,    // The server cannot keep an audit record; nothing was granted.
  kNotAcquired = 1000,       // The lock is not free; see AcquireResult::contention.
};

// Name as on the wire and in logs, such as "LEASE_LOST". Thread-safety: thread-safe, as all here.
std::string_view NameOf(ErrorReason reason);

// The reason of an error. Nothing if it has none, or one that this version does not know: then rely
// on the status code alone.
std::optional<ErrorReason> ReasonOf(const absl::Status& status);

// The name of the reason, even of one that this version does not know. Empty if there is none.
std::string ReasonNameOf(const absl::Status& status);

// The field that a kInvalidField is about, such as "ttl".
std::optional<std::string> FieldOf(const absl::Status& status);

// How long to wait at least before a retry, if the server said so.
std::optional<std::chrono::milliseconds> RetryDelayOf(const absl::Status& status);

}  // namespace lockkeeper
