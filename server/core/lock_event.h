// SPDX-License-Identifier: Apache-2.0
//
// What happens to locks, as those who watch them are told.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/requests.h"
#include "core/types.h"

namespace lockkeeper::core {

// Numbers are those of lockkeeper.admin.v1.LockEventKind; a test compares names and numbers.
enum class LockEventKind {
  kStarted = 1,     // The watch hears of everything from now on.
  kGap = 2,         // Events are missing.
  kGranted = 3,     // A client has the lock.
  kOffered = 4,     // The lock is set aside for the waiter whose turn it is.
  kExtended = 5,    // By an Extend; heartbeats are not told.
  kReleased = 6,    // By its holder.
  kExpired = 7,     // The lease ended without a release.
  kLost = 8,        // A client was told that it does not have the lease, or no longer.
  kForced = 9,      // An administrator ended the lease.
  kTakenBack = 10,  // The grant's caller was gone before it heard of it.
  kWaiting = 11,    // An acquire stands in line.
  kLeft = 12,       // A waiter has left the line without the lock.
  kQuarantineBegan = 13,
  kQuarantineEnded = 14,
};

enum class GapReason {
  kNone = 0,
  kSlowWatcher = 1,   // It did not read what it was sent.
  kMessagesLost = 2,  // Between daemons.
  kDaemonGone = 3,    // A daemon is not heard of any more; its last events may be missing.
  kDaemonJoined = 4,  // A daemon is heard of that may have had events before.
};

struct LockEvent {
  LockEventKind kind{};
  std::string name;       // Empty if it is about no lock.
  FencingToken token;     // Of the lease. 0: not known, or none.
  std::string owner;      // Empty if not known.
  std::string principal;  // The same. Empty, too, if it was anonymous.
  Micros remaining{};     // Of the lease or the quarantine. Of kForced: until the lock is open.
  Micros waited{};        // Of a grant or an offer.
  int32_t position = 0;   // Of kWaiting. 0: not known.
  bool previous_lease_expired = false;  // Of a grant or an offer.
  uint64_t lease = 0;  // Tells leases of one lock apart; 0: not known. Never shown to clients.
  GapReason gap = GapReason::kNone;
  int64_t missed = 0;  // Events in the gap. 0: not known.
};

// Which locks somebody watches.
struct WatchFilter {
  enum class Match { kPrefix, kName };

  Match match = Match::kPrefix;
  std::string text;

  bool Matches(std::string_view lock_name) const {
    return match == Match::kName ? lock_name == text : lock_name.starts_with(text);
  }
  bool operator==(const WatchFilter&) const = default;
};

using WatchFilters = std::vector<WatchFilter>;

inline bool Matches(const WatchFilters& filters, std::string_view lock_name) {
  for (const WatchFilter& filter : filters) {
    if (filter.Matches(lock_name)) return true;
  }
  return false;
}

// Number that tells leases of one lock apart, and does not reveal the lease id. Never 0. The same
// in all daemons.
uint64_t LeaseNumber(const LeaseId& id);

// What the request for a lease says of an event.
template <typename Request>
LockEvent EventOf(LockEventKind kind, const Request& request) {
  LockEvent event{.kind = kind, .name = request.name, .lease = LeaseNumber(request.lease_id)};
  if constexpr (requires { request.owner; }) event.owner = request.owner;
  if constexpr (requires { request.principal; }) event.principal = request.principal;
  if constexpr (requires { request.token; }) event.token = request.token;
  return event;
}

// What the lease says that it got.
void AddLease(const Lease& lease, LockEvent& event);

}  // namespace lockkeeper::core
