// SPDX-License-Identifier: Apache-2.0
//
// The limits of what clients ask for, each with its unit and where it comes from; a test reaches
// each. docs/reference/limits.md lists the same names. Queues inside the daemon have their own:
// docs/reference/limits.md#queues.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "core/types.h"

namespace lockkeeper::core::limits {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

// Bytes of a lock's name. A Redis key may be longer, but names are kept per lock and per log line.
inline constexpr size_t kNameBytesMax = 512;

// Bytes of the owner text and of an administrator's reason. Enough for host, process and purpose.
inline constexpr size_t kOwnerBytesMax = 256;
inline constexpr size_t kReasonBytesMax = 256;

// Labels of a lease. They are part of the record, which acquire and release read whole;
// extend and fence mostly read its header only.
inline constexpr size_t kLabelsMax = 8;
inline constexpr size_t kLabelKeyBytesMax = 64;
inline constexpr size_t kLabelValueBytesMax = 256;

// Attempts of one acquire. The record has six digits for it.
inline constexpr int32_t kAttemptMax = 999'999;

// Shortest lease. Below it a renewal every third of the ttl is within ordinary scheduling delays.
inline constexpr Millis kTtlMin{100};
// Lease of an acquire that asks for none, unless lease.default_ttl says otherwise (or
// lease.max_ttl, if that is shorter).
inline constexpr Millis kTtlDefault = seconds(30);
// Lowest and highest value that a largest ttl may be configured to.
inline constexpr Millis kMaxTtlMin = seconds(1);
inline constexpr Millis kTtlCeiling = hours(24);
// Entries of lease.by_prefix. The name of each acquire is compared with all of them.
inline constexpr size_t kTtlPrefixesMax = 256;

// Highest value that waiters.max_wait may be configured to.
inline constexpr Millis kWaitTimeoutMax = hours(24);
inline constexpr Millis kLockDelayMax = minutes(1);
inline constexpr Millis kMaxHoldMin = kTtlMin;
inline constexpr Millis kMaxHoldMax = hours(24);
inline constexpr Millis kHoldAtLeastMax = hours(24);

// Largest token: doubles (Lua, JavaScript) are exact up to here.
inline constexpr int64_t kTokenMax = (int64_t{1} << 53) - 1;

// Bytes of the opaque proof of a lease.
inline constexpr size_t kReassertionBytesMax = 1024;

// Locks in one page of ListLocks.
inline constexpr int32_t kPageSizeDefault = 100;
inline constexpr int32_t kPageSizeMax = 1000;
inline constexpr size_t kPageTokenBytesMax = 64;

// Bytes of one request message. The largest legal acquire takes about 4 KiB.
inline constexpr size_t kRequestBytesMax = 64 * 1024;

// Operations that a daemon has accepted and not yet answered. Beyond it RATE_LIMIT: about a second
// of work, more would only wait for its deadline.
inline constexpr size_t kOperationsOutstandingMax = 65'536;

// Operations on one lock that wait for their script call. A lock has one call of at most 32
// operations in flight, so this many take half a second. An acquire beyond it gets RATE_LIMIT.
inline constexpr size_t kOperationsPerLockMax = 16'384;

// Waiters in the line of one lock, by default. A hand-over costs the same for any number; what
// grows is the node's memory, about 400 bytes for each.
inline constexpr int32_t kWaitersPerLockDefault = 20'000;
inline constexpr int32_t kWaitersPerLockMax = 999'999;

// Waiters of one principal in a daemon, by default: a unary call that waits takes about 16 KiB.
inline constexpr int32_t kWaitersPerPrincipalDefault = 50'000;
inline constexpr int32_t kWaitersPerPrincipalMax = 999'999;

// Operations of one message of a session.
inline constexpr int kSessionBatchMax = 1'024;

// Operations of one session whose result its client has not read yet; about 300 bytes for each.
// This bounds what a client that does not read makes the daemon keep. Beyond it RATE_LIMIT.
inline constexpr int32_t kSessionOperationsMax = 32'768;

// Refusals that a session keeps for a client that goes on sending beyond that and does not read.
// Beyond it the session is ended.
inline constexpr int32_t kSessionRefusalsMax = 16'384;

// Cancels and forgets of one session that are not carried out yet, which at a busy store takes half
// a second; up to 1 KiB for each. Beyond it the next message is read when one of them is.
inline constexpr int32_t kSessionNotesMax = 16'384;

// Leases of one session, about 370 bytes for each. Beyond it LEASE_LIMIT.
inline constexpr size_t kLeasesPerSessionMax = 1'000'000;

// Ended leases that a daemon remembers, to reject proofs of them; about 20 bytes for each. Beyond
// it the older half is forgotten.
inline constexpr size_t kEndedLeasesMax = 1'000'000;

// Leases that a daemon remembers to have told of, to restore them after a failover; about 300 bytes
// for each. While there are more, no quarantine ends early.
inline constexpr size_t kToldLeasesMax = 65'536;

// Connections to gRPC, by default. One that does nothing takes about 30 KiB.
inline constexpr int kConnectionsDefault = 4'096;
inline constexpr int kConnectionsMax = 1'000'000;

// Calls of one connection at a time, which gRPC's clients keep to: about 16 KiB for each.
inline constexpr int kCallsPerConnectionMax = 10'000;

// Bytes of a connection that the kernel buffers until gRPC reads them. gRPC keeps reading while
// there are bytes, and ends reset calls only when there are none: with 64 KiB a client could delay
// that for seconds.
inline constexpr int kReceiveBufferBytes = 16 * 1024;

// Bytes of a TCP segment of a client. On loopback they would be up to 64 KiB, and the kernel of a
// client whose next segment is longer than the window waits for 200 ms before it sends a part.
inline constexpr int kSegmentBytesMax = 1'460;

// Descriptors that the connections of clients do not get, for Redis, HTTP and files. If the process
// may have fewer than twice as many: the half.
inline constexpr size_t kDescriptorReserve = 128;

// Calls of ListLocks at a time, until their clients have read: some 6 MB for each at most. Beyond
// it the oldest is cancelled.
inline constexpr size_t kListsMax = 16;

// Calls of WatchLocks at a time, of all principals and of one of them. Without authentication all
// callers are one principal.
inline constexpr size_t kWatchesMax = 128;
inline constexpr size_t kWatchesPerPrincipalMax = 64;

// Events of one watch that its client has not read, up to 1 KiB for each; and those that another
// daemon has not been sent. Beyond it they are dropped, and the client is told of the gap.
inline constexpr size_t kWatchUnreadMax = 4'096;

// Watched locks whose leases a daemon follows, about 300 bytes for each. Of others it does not tell
// when a lease expires, before the lock is granted again.
inline constexpr size_t kWatchedLocksMax = 100'000;

// Operations of all sessions without a result, or with one that is unread, up to 1 KiB for each.
// Beyond it a session with more than a batch of them gets RATE_LIMIT, and is ended if they are
// unread.
inline constexpr int64_t kOperationsOfSessionsMax = 131'072;

// Audit records that wait to be written, by default; some 300 bytes for each.
inline constexpr int kAuditQueueDefault = 65'536;
inline constexpr int kAuditQueueMax = 1'000'000;

// Spans that wait to be exported; some 600 bytes for each, 2 KiB at most. Beyond it they are
// dropped.
inline constexpr size_t kSpansQueuedMax = 8'192;

// Grants that a daemon is trying to withdraw. Beyond it the oldest is left to its ttl.
inline constexpr size_t kWithdrawalsMax = 65'536;

}  // namespace lockkeeper::core::limits
