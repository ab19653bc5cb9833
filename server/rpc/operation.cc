// SPDX-License-Identifier: Apache-2.0
#include "rpc/operation.h"

#include <algorithm>
#include <array>
#include <type_traits>

#include "core/errors.h"
#include "core/limits.h"
#include "os/random_bits.h"
#include "rpc/convert_duration.h"

namespace lockkeeper::rpc {
namespace {

using core::ConfiguredLimits;
using google::protobuf::Duration;

constexpr int32_t kContendedLocksDefault = 20;
constexpr int32_t kContendedLocksMax = telemetry::ContendedLocks::kCounters;

// Puts a new request into `to`, without a deadline.
template <typename Request>
Request& New(Operation& to) {
  to.problem = absl::OkStatus();
  Request& request = to.request.emplace<Request>();
  if constexpr (requires { request.deadline; }) request.deadline = core::Instant::max();
  return request;
}

absl::Status ReadDuration(std::string_view field, const Duration& from, core::Millis& to) {
  const absl::StatusOr<core::Millis> millis = ToMillis(field, from);
  if (!millis.ok()) return millis.status();
  to = *millis;
  return absl::OkStatus();
}

absl::Status ReadLeaseId(const std::string& from, core::LeaseId& to) {
  const std::optional<core::LeaseId> id = core::LeaseId::Parse(from);
  if (!id) {
    return core::InvalidField("lease_id",
                              "has to be 32 hex digits or a UUID of 36 characters, has " +
                                  std::to_string(from.size()) + " bytes");
  }
  to = *id;
  return absl::OkStatus();
}

absl::Status ReadAssurance(std::string_view field, int from, core::Assurance& to) {
  if (!v1::Assurance_IsValid(from)) {
    return core::InvalidField(field, "has no value " + std::to_string(from));
  }
  to = static_cast<core::Assurance>(from);
  return absl::OkStatus();
}

// Sorted, so that equal labels make equal records.
core::Labels ReadLabels(const google::protobuf::Map<std::string, std::string>& from) {
  core::Labels labels(from.begin(), from.end());
  std::sort(labels.begin(), labels.end());
  return labels;
}

absl::Status ReadAcquireTimes(const v1::AcquireRequest& from, core::AcquireRequest& to) {
  if (from.has_ttl()) {
    if (auto status = ReadDuration("ttl", from.ttl(), to.ttl); !status.ok()) return status;
  }
  if (auto status = ReadDuration("wait_timeout", from.wait_timeout(), to.wait_timeout);
      !status.ok()) {
    return status;
  }
  if (auto status = ReadDuration("lock_delay", from.lock_delay(), to.lock_delay); !status.ok()) {
    return status;
  }
  if (auto status = ReadDuration("max_hold", from.max_hold(), to.max_hold); !status.ok()) {
    return status;
  }
  return ReadDuration("hold_at_least", from.hold_at_least(), to.hold_at_least);
}

absl::Status ReadAcquire(const v1::AcquireRequest& from, core::AcquireRequest& to) {
  to.name = from.name();
  to.attempt = from.attempt();
  to.owner = from.owner();
  to.labels = ReadLabels(from.labels());
  to.claim = from.confirm() ? core::ClaimMode::kByClient : core::ClaimMode::kByDaemon;
  if (from.lease_id().empty()) {
    const auto [high, low] = os::Random128Bits();
    to.lease_id = core::LeaseId::FromBits(high, low);
  } else if (auto status = ReadLeaseId(from.lease_id(), to.lease_id); !status.ok()) {
    return status;
  }
  if (auto status = ReadAssurance("min_assurance", from.min_assurance(), to.min_assurance);
      !status.ok()) {
    return status;
  }
  return ReadAcquireTimes(from, to);
}

absl::Status ReadExtend(const v1::ExtendRequest& from, core::ExtendRequest& to) {
  to.name = from.name();
  to.token = core::FencingToken{from.fencing_token()};
  to.reassertion = from.reassertion();
  if (auto status = ReadLeaseId(from.lease_id(), to.lease_id); !status.ok()) return status;
  if (!from.has_ttl()) return absl::OkStatus();
  if (auto status = ReadDuration("ttl", from.ttl(), to.ttl); !status.ok()) return status;
  // To the domain zero means "not given"; a caller says that by leaving the field unset.
  if (to.ttl == core::Millis(0)) return core::InvalidField("ttl", "is 0; leave it unset instead");
  return absl::OkStatus();
}

// Without a token an adoption could take a lease that has another one. Checked last. No configured
// limit applies, since an adoption has no ttl.
absl::Status ReadAdopt(const v1::SessionAdopt& from, core::ExtendRequest& to) {
  to.name = from.name();
  to.token = core::FencingToken{from.fencing_token()};
  to.reassertion = from.reassertion();
  if (auto status = ReadLeaseId(from.lease_id(), to.lease_id); !status.ok()) return status;
  if (auto status = core::Validate(to, ConfiguredLimits()); !status.ok()) return status;
  if (to.token.value != 0) return absl::OkStatus();
  return core::InvalidField("fencing_token", "has to be given to adopt a lease");
}

// For requests that are audited.
template <typename Request>
absl::Status ValidateReason(const Request& request) {
  using core::limits::kReasonBytesMax;
  if (request.reason.empty()) {
    return core::InvalidField("reason",
                              "has to be 1 to " + std::to_string(kReasonBytesMax) + " bytes");
  }
  if (auto status = core::ValidateText("owner", request.owner, core::limits::kOwnerBytesMax);
      !status.ok()) {
    return status;
  }
  return core::ValidateText("reason", request.reason, kReasonBytesMax);
}

absl::Status ValidateEndQuarantine(const EndQuarantineRequest& request) {
  if (request.epoch < 1) {
    return core::InvalidField("epoch", "has to be that of the quarantine: GetServerInfo tells it");
  }
  if (!request.accepts_two_holders) {
    return core::InvalidField("accept_two_holders",
                              "has to be true: a lock has two holders if the store has forgotten "
                              "a lease whose holder still works");
  }
  return ValidateReason(request);
}

struct Validator {
  absl::Status operator()(const core::AcquireRequest& request) const {
    return core::Validate(request, limits);
  }
  absl::Status operator()(const core::ExtendRequest& request) const {
    return core::Validate(request, limits);
  }
  absl::Status operator()(const core::ReleaseRequest& request) const {
    return core::Validate(request);
  }
  absl::Status operator()(const core::FenceRequest& request) const {
    return core::Validate(request);
  }
  absl::Status operator()(const InspectRequest& request) const {
    return core::ValidateName("name", request.name);
  }
  absl::Status operator()(const ListRequest& request) const {
    if (auto status = core::ValidateText("holder_principal", request.holder_principal,
                                         access::kPrincipalBytesMax);
        !status.ok()) {
      return status;
    }
    return core::Validate(request);
  }
  absl::Status operator()(const WatchRequest& request) const {
    return request.filter.match == core::WatchFilter::Match::kName
               ? core::ValidateName("name", request.filter.text)
               : core::ValidateText("prefix", request.filter.text, core::limits::kNameBytesMax);
  }
  absl::Status operator()(const ListContendedRequest& request) const {
    if (request.limit < 1 || request.limit > kContendedLocksMax) {
      return core::InvalidField("limit", "has to be 1 to " + std::to_string(kContendedLocksMax) +
                                             ", is " + std::to_string(request.limit));
    }
    return core::ValidateText("prefix", request.prefix, core::limits::kNameBytesMax);
  }
  absl::Status operator()(const ForceReleaseRequest& request) const {
    if (auto status = core::ValidateName("name", request.name); !status.ok()) return status;
    return ValidateReason(request);
  }
  absl::Status operator()(const EndQuarantineRequest& request) const {
    return ValidateEndQuarantine(request);
  }
  absl::Status operator()(const DrainRequest& request) const { return ValidateReason(request); }
  absl::Status operator()(const ServerInfoRequest&) const { return absl::OkStatus(); }
  absl::Status operator()(const CheckAccessRequest& request) const {
    const bool has_name = request.verb && access::IsAboutLock(*request.verb);
    if (!has_name || *request.verb == access::Verb::kList) {
      return core::ValidateText("name", request.name, core::limits::kNameBytesMax);
    }
    return core::ValidateName("name", request.name);
  }
  absl::Status operator()(const OpenSessionRequest& request) const {
    return core::ValidateText("open.owner", request.owner, core::limits::kOwnerBytesMax);
  }

  const ConfiguredLimits& limits;
};

}  // namespace

std::string_view RpcNameOf(Verb verb) {
  static constexpr std::array<std::string_view, kVerbs> kNames = {
      "Acquire",      "Extend",        "Release",    "Fence",
      "GetLock",      "ListLocks",     "WatchLocks", "ListContendedLocks",
      "ForceRelease", "EndQuarantine", "Drain",      "GetServerInfo",
      "CheckAccess",  "Session"};
  return kNames.at(static_cast<size_t>(verb));
}

std::string_view VerbNameOf(Verb verb) {
  static constexpr std::array<std::string_view, kVerbs> kNames = {
      "acquire", "extend", "release",        "fence",         "inspect",
      "list",    "watch",  "list-contended", "force-release", "end-quarantine",
      "drain",   "admin",  "check-access",   "open-session"};
  return kNames.at(static_cast<size_t>(verb));
}

Subject SubjectOf(const Operation& operation) {
  return std::visit(
      [](const auto& request) {
        Subject subject;
        using Request = std::decay_t<decltype(request)>;
        if constexpr (std::is_same_v<Request, core::FenceRequest>) subject.token = request.token;
        if constexpr (requires { request.name; }) subject.lock_name = request.name;
        if constexpr (requires { request.owner; }) subject.owner = request.owner;
        if constexpr (requires { request.lease_id; }) subject.lease_id = request.lease_id;
        return subject;
      },
      operation.request);
}

void Read(const v1::AcquireRequest& from, Operation& to) {
  to.problem = ReadAcquire(from, New<core::AcquireRequest>(to));
  to.is_ttl_default = !from.has_ttl();
}

void Read(const v1::ExtendRequest& from, Operation& to) {
  to.problem = ReadExtend(from, New<core::ExtendRequest>(to));
}

void Read(const v1::ReleaseRequest& from, Operation& to) {
  auto& request = New<core::ReleaseRequest>(to);
  request.name = from.name();
  to.problem = ReadLeaseId(from.lease_id(), request.lease_id);
}

void Read(const v1::FenceRequest& from, Operation& to) {
  auto& request = New<core::FenceRequest>(to);
  request.name = from.name();
  request.token = core::FencingToken{from.fencing_token()};
  request.liveness =
      from.require_live_lease() ? core::LeaseLiveness::kRequired : core::LeaseLiveness::kAny;
}

void Read(const v1::CheckAccessRequest& from, Operation& to) {
  auto& request = New<CheckAccessRequest>(to);
  request.name = from.name();
  if (from.verb().empty()) return;
  request.verb = access::VerbOf(from.verb());
  if (!request.verb) to.problem = core::InvalidField("verb", "has to be " + access::VerbNames());
}

void Read(const v1::SessionOpen& from, Operation& to) {
  New<OpenSessionRequest>(to).owner = from.owner();
}

void Read(const v1::SessionOperation& from, Operation& to) {
  switch (from.operation_case()) {
    case v1::SessionOperation::kAcquire:
      return Read(from.acquire(), to);
    case v1::SessionOperation::kExtend:
      return Read(from.extend(), to);
    case v1::SessionOperation::kRelease:
      return Read(from.release(), to);
    case v1::SessionOperation::kFence:
      return Read(from.fence(), to);
    case v1::SessionOperation::OPERATION_NOT_SET:
      break;
  }
  to.problem = core::InvalidField("operation", "is not set, or is newer than this server");
}

void Read(const v1::SessionAdopt& from, Operation& to) {
  to.problem = ReadAdopt(from, New<core::ExtendRequest>(to));
}

void Read(const admin::v1::GetLockRequest& from, Operation& to) {
  New<InspectRequest>(to).name = from.name();
}

void Read(const admin::v1::ListLocksRequest& from, Operation& to) {
  auto& request = New<ListRequest>(to);
  request.prefix = from.prefix();
  request.page_size = from.page_size() == 0 ? core::limits::kPageSizeDefault : from.page_size();
  request.page_token = from.page_token();
  request.holder_principal = from.holder_principal();
  request.ended = from.include_ended() ? core::EndedLocks::kInclude : core::EndedLocks::kLeaveOut;
}

void Read(const admin::v1::WatchLocksRequest& from, Operation& to) {
  using Match = core::WatchFilter::Match;
  core::WatchFilter& filter = New<WatchRequest>(to).filter;
  if (from.name().empty()) {
    filter = {Match::kPrefix, from.prefix()};
  } else if (from.prefix().empty()) {
    filter = {Match::kName, from.name()};
  } else {
    to.problem = core::InvalidField("prefix", "has to be empty if `name` is set");
  }
}

void Read(const admin::v1::ListContendedLocksRequest& from, Operation& to) {
  auto& request = New<ListContendedRequest>(to);
  request.prefix = from.prefix();
  request.limit = from.limit() == 0 ? kContendedLocksDefault : from.limit();
  switch (from.order()) {
    case admin::v1::CONTENDED_ORDER_UNSPECIFIED:
    case admin::v1::CONTENDED_ORDER_WAITS:
      request.order = telemetry::ContendedOrder::kWaits;
      return;
    case admin::v1::CONTENDED_ORDER_WAITED:
      request.order = telemetry::ContendedOrder::kWaited;
      return;
    default:
      to.problem = core::InvalidField("order", "has no value " + std::to_string(from.order()));
  }
}

void Read(const admin::v1::ForceReleaseRequest& from, Operation& to) {
  auto& request = New<ForceReleaseRequest>(to);
  request.name = from.name();
  request.delay = from.now() ? core::ReleaseDelay::kNone : core::ReleaseDelay::kHoldersRemainingTtl;
  request.reason = from.reason();
  request.owner = from.owner();
}

void Read(const admin::v1::EndQuarantineRequest& from, Operation& to) {
  auto& request = New<EndQuarantineRequest>(to);
  request.epoch = from.epoch();
  request.accepts_two_holders = from.accept_two_holders();
  request.reason = from.reason();
  request.owner = from.owner();
}

void Read(const admin::v1::DrainRequest& from, Operation& to) {
  auto& request = New<DrainRequest>(to);
  request.reason = from.reason();
  request.owner = from.owner();
}

void Read(const admin::v1::GetServerInfoRequest&, Operation& to) { New<ServerInfoRequest>(to); }

void ApplyDefaults(const ConfiguredLimits& limits, Operation& operation) {
  auto* const acquire = std::get_if<core::AcquireRequest>(&operation.request);
  if (acquire == nullptr || !operation.is_ttl_default) return;
  acquire->ttl = limits.TtlsOf(acquire->name).default_ttl;
}

absl::Status Validate(const Operation& operation, const ConfiguredLimits& limits) {
  if (!operation.problem.ok()) return operation.problem;
  return std::visit(Validator{limits}, operation.request);
}

}  // namespace lockkeeper::rpc
