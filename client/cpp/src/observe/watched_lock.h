// SPDX-License-Identifier: Apache-2.0
//
// What an observer hears of its lock, as its rules need it: events of a watch, and looks.
#pragma once

#include <cstdint>
#include <optional>

#include "lockkeeper/leader_observer.h"
#include "renewal/time.h"

namespace lockkeeper::client {

// Something that happened to the lock, or to the watch.
struct LockEvent {
  enum class Kind {
    kUnknown,    // Of a newer server.
    kStarted,    // Everything is told from now on.
    kMayMiss,    // Events may be missing, or were for a time: a gap, or a quarantine is over.
    kGranted,    // The lease holds the lock.
    kOffered,    // The lock is set aside for the lease, until that is granted.
    kExtended,   // The lease was extended.
    kEnded,      // The lease has ended, in whatever way.
    kLost,       // Somebody asked for an extend in vain. The token is the one that was asked with.
    kUnrelated,  // Says nothing about leases.
  };

  Kind kind = Kind::kUnknown;
  Leader lease;  // Without a token: not known which lease it was.
};

// The lock as the store knew it when it was asked.
struct LockLook {
  enum class State {
    kNone,      // There is no record of it.
    kHeld,      // The lease holds it.
    kOffered,   // It is set aside for the lease.
    kEnded,     // Nobody has it; the lease was the last one.
    kUnproven,  // The lease may hold it, if the store has not forgotten more. Or not known.
  };

  State state = State::kNone;
  Leader lease;
  // Set during a quarantine, in which a lease may be missing that is live: time until its end.
  std::optional<Duration> quarantine_left;
};

}  // namespace lockkeeper::client
