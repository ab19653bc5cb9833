// SPDX-License-Identifier: Apache-2.0
//
// The leases that a client keeps, by lease id: whom to tell when a session says that one has ended.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "renewal/kept_lease.h"

namespace lockkeeper::client {

// Thread-safety: thread-safe.
class KeptLeases {
 public:
  // Until the lease is destroyed, or another one has the same lease id.
  void Add(const std::shared_ptr<KeptLease>& lease);

  // The service says that this lease has ended. Does nothing if it is not kept (yet): then its next
  // renewal tells.
  void Ended(const std::string& name, const std::string& lease_id);

 private:
  std::mutex mutex_;
  // Guarded by mutex_, as all below. May have leases that are destroyed.
  std::unordered_map<std::string, std::weak_ptr<KeptLease>> leases_;
  size_t tidy_at_ = 64;
};

}  // namespace lockkeeper::client
