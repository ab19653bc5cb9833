// SPDX-License-Identifier: Apache-2.0
//
// Holds operations against the quotas that the policy gives their caller.
#pragma once

#include <map>
#include <string_view>

#include "absl/status/status.h"
#include "access/usage.h"
#include "core/types.h"
#include "rpc/caller.h"
#include "rpc/operation.h"
#include "telemetry/metrics.h"

namespace lockkeeper::rpc {

// Counts refusals by quota. Thread-safety: thread-safe. Lifetime: borrows the metrics.
class QuotaRefusals {
 public:
  explicit QuotaRefusals(telemetry::Metrics& metrics);
  void Count(std::string_view quota) const;

 private:
  std::map<std::string_view, telemetry::Counter> counters_;
};

// Counts the operation, or that it is refused, and takes what it needs for as long as it lasts. A
// ttl or max_hold that the client leaves to the server becomes what the quota allows. Requires: the
// operation is valid, and the caller has the right to it. Errors: INVALID_FIELD, RATE_LIMIT,
// WAITER_LIMIT, LEASE_LIMIT; each names the quota.
absl::Status ApplyQuotas(Caller& caller, access::UsageBook& book, core::Instant now,
                         const QuotaRefusals& refusals, Operation& operation);

}  // namespace lockkeeper::rpc
