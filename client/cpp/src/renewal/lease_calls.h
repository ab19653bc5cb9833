// SPDX-License-Identifier: Apache-2.0
//
// The port through which the renewal extends and releases leases.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "lockkeeper/lease.h"
#include "lockkeeper/options.h"
#include "renewal/lease_life.h"
#include "renewal/time.h"

namespace lockkeeper::client {

struct LeaseRef {
  std::string name;
  std::string lease_id;
  // With these an extend takes the lease back into a store that has forgotten it. 0 and empty: not
  // known.
  int64_t fencing_token = 0;
  std::string reassertion = {};
};

struct ExtendAnswer {
  ExtendOutcome outcome = ExtendOutcome::kNoAnswer;
  Duration remaining_ttl{0};     // Of kExtended.
  std::string reassertion = {};  // Of kExtended: the newest proof. Empty: keep the previous one.
  absl::Status error = {};       // Of the others.
};

// Thread-safety: thread-safe. Completion: `done` runs exactly once, within about `timeout`, on any
// thread, possibly before the call returned.
class LeaseCalls {
 public:
  virtual ~LeaseCalls() = default;

  // Without `ttl`: the ttl as granted. Sends all members of `lease`.
  virtual void Extend(const LeaseRef& lease, std::optional<Duration> ttl, Duration timeout,
                      absl::AnyInvocable<void(ExtendAnswer) &&> done) = 0;

  // As a part of `trace`. UNAVAILABLE and DEADLINE_EXCEEDED are retryable.
  virtual void Release(const LeaseRef& lease, const TraceContext& trace, Duration timeout,
                       absl::AnyInvocable<void(absl::StatusOr<ReleaseOutcome>) &&> done) = 0;

  // Nobody holds the lease any more, and it is not released: it is to run out. A heartbeat for
  // other leases would keep it.
  virtual void Forget(const LeaseRef& lease) = 0;
};

}  // namespace lockkeeper::client
