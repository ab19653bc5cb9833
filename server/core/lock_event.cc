// SPDX-License-Identifier: Apache-2.0
#include "core/lock_event.h"

#include <algorithm>

namespace lockkeeper::core {

// FNV-1a, of 64 bits: daemons of other builds have to find the same.
uint64_t LeaseNumber(const LeaseId& id) {
  uint64_t number = 0xcbf29ce484222325;
  for (const char digit : id.digits()) {
    number ^= static_cast<unsigned char>(digit);
    number *= 0x100000001b3;
  }
  return std::max<uint64_t>(number, 1);
}

void AddLease(const Lease& lease, LockEvent& event) {
  event.token = lease.token;
  event.remaining = lease.remaining_ttl;
  event.waited = lease.waited;
  event.previous_lease_expired = lease.previous_lease_expired;
}

}  // namespace lockkeeper::core
