// SPDX-License-Identifier: Apache-2.0
#include "rpc/quotas.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>

#include "core/errors.h"
#include "text/duration.h"

namespace lockkeeper::rpc {
namespace {

using access::Usage;
using core::ErrorReason;
using core::Millis;

constexpr std::string_view kRate = "operations_per_second";
constexpr std::string_view kQuotas[] = {kRate,      "waiters",        "leases",
                                        "sessions", "max_ttl",        "max_wait",
                                        "max_hold", "max_lock_delay", "max_hold_at_least"};

absl::Status TooLong(const Caller& caller, std::string_view field, std::string_view quota,
                     Millis most) {
  return core::InvalidField(field, "has to be at most " + text::FormatDuration(most) +
                                       ": the quota " + std::string(quota) + " of " +
                                       DescriptionOf(caller.identity()));
}

absl::Status TooMany(const Caller& caller, ErrorReason reason, std::string_view quota,
                     int64_t most) {
  return core::Error(reason, DescriptionOf(caller.identity()) + " may have " +
                                 std::to_string(most) + " at this daemon: the quota " +
                                 std::string(quota));
}

// Applies what is about the fields of a request, and takes what the operation holds.
struct Applier {
  absl::Status operator()(core::AcquireRequest& request) const {
    if (operation.is_ttl_default && quotas.max_ttl) {
      request.ttl = std::min(request.ttl, *quotas.max_ttl);
    }
    if (request.max_hold == Millis(0) && quotas.max_hold) request.max_hold = *quotas.max_hold;
    for (const auto& [field, value, quota, most] :
         {std::tuple("ttl", request.ttl, "max_ttl", quotas.max_ttl),
          std::tuple("wait_timeout", request.wait_timeout, "max_wait", quotas.max_wait),
          std::tuple("max_hold", request.max_hold, "max_hold", quotas.max_hold),
          std::tuple("lock_delay", request.lock_delay, "max_lock_delay", quotas.max_lock_delay),
          std::tuple("hold_at_least", request.hold_at_least, "max_hold_at_least",
                     quotas.max_hold_at_least)}) {
      if (most && value > *most) return Refused(quota, TooLong(caller, field, quota, *most));
    }
    Usage::Hold waiter;
    if (quotas.waiters && request.wait_timeout > Millis(0)) {
      waiter = Usage::Take(usage, Usage::Kind::kWaiter, *quotas.waiters);
      if (!waiter) {
        return Refused("waiters",
                       TooMany(caller, ErrorReason::kWaiterLimit, "waiters", *quotas.waiters));
      }
    }
    if (quotas.leases) {
      operation.holds.lease =
          Usage::TakeLease(usage, request.name, request.lease_id, *quotas.leases, now);
      if (!operation.holds.lease) {
        return Refused("leases",
                       TooMany(caller, ErrorReason::kLeaseLimit, "leases", *quotas.leases));
      }
    }
    operation.holds.waiter = std::move(waiter);
    return absl::OkStatus();
  }

  absl::Status operator()(const core::ExtendRequest& request) const {
    if (!quotas.max_ttl || request.ttl <= *quotas.max_ttl) return absl::OkStatus();
    return Refused("max_ttl", TooLong(caller, "ttl", "max_ttl", *quotas.max_ttl));
  }

  absl::Status operator()(const OpenSessionRequest&) const {
    if (!quotas.sessions) return absl::OkStatus();
    operation.holds.session = Usage::Take(usage, Usage::Kind::kSession, *quotas.sessions);
    if (operation.holds.session) return absl::OkStatus();
    return Refused("sessions",
                   TooMany(caller, ErrorReason::kRateLimit, "sessions", *quotas.sessions));
  }

  template <typename Other>
  absl::Status operator()(const Other&) const {
    return absl::OkStatus();
  }

  absl::Status Refused(std::string_view quota, absl::Status why) const {
    refusals.Count(quota);
    return why;
  }

  const Caller& caller;
  const access::Quotas& quotas;
  const std::shared_ptr<Usage>& usage;
  core::Instant now;
  const QuotaRefusals& refusals;
  Operation& operation;
};

Usage::Urgency UrgencyOf(const Operation& operation) {
  const bool keeps_lease = operation.verb() == Verb::kExtend || operation.verb() == Verb::kRelease;
  return keeps_lease ? Usage::Urgency::kKeepsLease : Usage::Urgency::kOrdinary;
}

}  // namespace

QuotaRefusals::QuotaRefusals(telemetry::Metrics& metrics) {
  for (const std::string_view quota : kQuotas) {
    counters_.emplace(quota, metrics.QuotaRefusals(quota));
  }
}

void QuotaRefusals::Count(std::string_view quota) const { counters_.at(quota).Increment(); }

absl::Status ApplyQuotas(Caller& caller, access::UsageBook& book, core::Instant now,
                         const QuotaRefusals& refusals, Operation& operation) {
  // A session outlives the policy of today.
  const bool is_session = operation.verb() == Verb::kOpenSession;
  const bool has_quotas = caller.rights().has_quotas();
  if (has_quotas || is_session) caller.FindUsage(book, now);
  if (!has_quotas) return absl::OkStatus();
  const access::Quotas& quotas = caller.rights().quotas();
  if (quotas.leases) caller.usage()->CountLeases();
  if (quotas.operations_per_second) {
    const std::optional<Millis> early =
        caller.usage()->TakeOperation(*quotas.operations_per_second, UrgencyOf(operation), now);
    if (early) {
      refusals.Count(kRate);
      return core::ErrorWithDelay(ErrorReason::kRateLimit,
                                  DescriptionOf(caller.identity()) + " may make " +
                                      std::to_string(*quotas.operations_per_second) +
                                      " operations a second at this daemon: the quota " +
                                      std::string(kRate),
                                  *early);
    }
  }
  return std::visit(Applier{caller, quotas, caller.usage(), now, refusals, operation},
                    operation.request);
}

}  // namespace lockkeeper::rpc
