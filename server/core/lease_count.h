// SPDX-License-Identifier: Apache-2.0
//
// The port by which sessions tell which leases their client has, to be held against its quota. A
// lease counts once, however many sessions keep it.
#pragma once

#include <string>

#include "core/clock.h"
#include "core/types.h"

namespace lockkeeper::core {

// Thread-safety: called on the loop's thread.
class LeaseCount {
 public:
  virtual ~LeaseCount() = default;

  // A session keeps the lease, which counts until Left(). False: nothing is counted now, and Left()
  // must not be called.
  virtual bool Kept(const std::string& name, const LeaseId& lease_id, Instant end) = 0;

  // The session keeps it no longer. If no other one does, it counts until `end`, or until the end
  // that was told before if that is later, unless it has ended.
  virtual void Left(const std::string& name, const LeaseId& lease_id, Instant end, Instant now) = 0;

  // The client has the lease, or an offer of it, until `end`, and no session need keep it.
  virtual void Granted(const std::string& name, const LeaseId& lease_id, Instant end,
                       Instant now) = 0;

  // The lease runs until `end` at least. Does nothing if it does not count.
  virtual void Extended(const std::string& name, const LeaseId& lease_id, Instant end) = 0;

  // The lease has ended.
  virtual void Ended(const std::string& name, const LeaseId& lease_id) = 0;
};

}  // namespace lockkeeper::core
