// SPDX-License-Identifier: Apache-2.0
//
// What a client asks for: a unary call, an operation of a session, or a call of an administrator.
// Each message is read into an Operation; the gate (gate.h) admits or rejects it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "absl/status/status.h"
#include "access/policy.h"
#include "access/usage.h"
#include "core/lock_event.h"
#include "core/requests.h"
#include "core/validation.h"
#include "lockkeeper/admin/v1/admin_service.pb.h"
#include "lockkeeper/v1/lock_service.pb.h"
#include "telemetry/contended_locks.h"

namespace lockkeeper::rpc {

// What an operation does to locks. Each has one rpc that does nothing else; see RpcNameOf().
enum class Verb {
  kAcquire,
  kExtend,
  kRelease,
  kFence,
  kInspect,
  kList,
  kWatch,
  kListContended,
  kForceRelease,
  kEndQuarantine,
  kDrain,
  kServerInfo,
  kCheckAccess,
  kOpenSession,
};
inline constexpr size_t kVerbs = static_cast<size_t>(Verb::kOpenSession) + 1;

// "Acquire", for metrics and the log.
std::string_view RpcNameOf(Verb verb);

// "acquire", for audit records: the word of policies, where they have one.
std::string_view VerbNameOf(Verb verb);

struct InspectRequest {
  std::string name;
  core::Instant deadline;
};

struct ListRequest : core::ListRequest {
  std::string holder_principal;  // Only locks of this one. Empty: of all.
};

struct WatchRequest {
  core::WatchFilter filter;
};

struct ListContendedRequest {
  std::string prefix;
  telemetry::ContendedOrder order = telemetry::ContendedOrder::kWaits;
  int32_t limit = 0;
  core::Instant deadline;
};

// With the reason and the administrator's name, which only go into the audit record.
struct ForceReleaseRequest : core::ForceReleaseRequest {
  std::string reason;
  std::string owner;
};

struct EndQuarantineRequest : core::EndQuarantineRequest {
  std::string reason;
  std::string owner;
  bool accepts_two_holders = false;
};

struct DrainRequest {
  std::string reason;
  std::string owner;
};

struct ServerInfoRequest {};

struct CheckAccessRequest {
  std::optional<access::Verb> verb;  // Nothing: only who the caller is.
  std::string name;                  // Of the lock; the prefix, if the verb is kList.
};

struct OpenSessionRequest {
  std::string owner;
};

// What an operation takes of its caller's quotas. It is given back when this is destroyed.
struct Holds {
  access::Usage::Hold waiter;
  access::Usage::Hold lease;
  access::Usage::Hold session;
};

struct Operation {
  // In the order of the verbs.
  std::variant<core::AcquireRequest, core::ExtendRequest, core::ReleaseRequest, core::FenceRequest,
               InspectRequest, ListRequest, WatchRequest, ListContendedRequest, ForceReleaseRequest,
               EndQuarantineRequest, DrainRequest, ServerInfoRequest, CheckAccessRequest,
               OpenSessionRequest>
      request;
  // Why the message could not be read: INVALID_FIELD. OK if it could.
  absl::Status problem;
  bool is_ttl_default = false;  // The message has no ttl: ApplyDefaults() sets it.
  Holds holds;                  // Of an admitted operation.

  Verb verb() const { return static_cast<Verb>(request.index()); }
};
static_assert(std::variant_size_v<decltype(Operation::request)> == kVerbs);

// What an operation is about, for its log and audit records.
// Lifetime: borrows the texts of the operation or of its message, and of its answer.
struct Subject {
  // Of the answer. `granted` may be null.
  void Add(const core::Lease* granted) {
    lease = granted;
    if (lease != nullptr) token = lease->token;
  }

  void Add(const core::ReleaseAnswer& answer) {
    not_released = answer.not_released;
    token = answer.token;
  }

  std::string_view lock_name;  // Empty if it is about no single lock.
  std::string_view owner;
  std::optional<core::LeaseId> lease_id;
  core::FencingToken token;
  const core::Lease* lease = nullptr;  // That was granted or extended.
  core::NotReleasedReason not_released = core::NotReleasedReason::kNone;
};
Subject SubjectOf(const Operation& operation);

// Reads a message. The deadline is Instant::max(). What the caller determines and not the message
// (principal, keeper) stays empty until the gate sets it.
// Thread-safety: thread-safe.
void Read(const v1::AcquireRequest& from, Operation& to);
void Read(const v1::ExtendRequest& from, Operation& to);
void Read(const v1::ReleaseRequest& from, Operation& to);
void Read(const v1::FenceRequest& from, Operation& to);
void Read(const v1::CheckAccessRequest& from, Operation& to);
void Read(const v1::SessionOpen& from, Operation& to);
void Read(const v1::SessionOperation& from, Operation& to);
void Read(const v1::SessionAdopt& from, Operation& to);
void Read(const admin::v1::GetLockRequest& from, Operation& to);
void Read(const admin::v1::ListLocksRequest& from, Operation& to);
void Read(const admin::v1::WatchLocksRequest& from, Operation& to);
void Read(const admin::v1::ListContendedLocksRequest& from, Operation& to);
void Read(const admin::v1::ForceReleaseRequest& from, Operation& to);
void Read(const admin::v1::EndQuarantineRequest& from, Operation& to);
void Read(const admin::v1::DrainRequest& from, Operation& to);
void Read(const admin::v1::GetServerInfoRequest& from, Operation& to);

// Gives an acquire that asks for no ttl the one of its lock.
void ApplyDefaults(const core::ConfiguredLimits& limits, Operation& operation);

// Checks an operation that was read against the limits. Errors: INVALID_FIELD.
absl::Status Validate(const Operation& operation, const core::ConfiguredLimits& limits);

}  // namespace lockkeeper::rpc
