// SPDX-License-Identifier: Apache-2.0
//
// Who calls. A call has one caller, and all operations of a session have the session's.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "access/access_control.h"
#include "access/rulebook.h"
#include "access/usage.h"
#include "audit/record.h"
#include "core/types.h"
#include "grpcpp/server_context.h"

namespace lockkeeper::rpc {

// Metadata key under which a caller names its request, for people who compare logs.
inline constexpr char kRequestIdKey[] = "x-request-id";
inline constexpr size_t kRequestIdBytesMax = 128;

// Request ids that no other call of any daemon has.
// Thread-safety: thread-safe.
class RequestIds {
 public:
  // `daemon_id` is new at each start of a daemon.
  explicit RequestIds(uint64_t daemon_id) : begin_(core::Hex16(daemon_id) + "-") {}

  std::string New();

 private:
  const std::string begin_;  // Of all of them.
  std::atomic<uint64_t> next_{0};
};

// When a call came: kLate, while the daemon was stopping already.
enum class Arrival { kInTime, kLate };

// Peer and request id are read from gRPC when they are needed: most calls need neither.
// Thread-safety: one thread at a time, but for const methods. Lifetime: borrows all arguments.
class Caller {
 public:
  Caller(const grpc::CallbackServerContext& call, RequestIds& ids, Arrival arrival)
      : call_(call), ids_(ids), arrival_(arrival) {}

  Arrival arrival() const { return arrival_; }

  // Finds out who calls, by what the call shows, and what they may do now. The identity stays: a
  // session whose certificate or token would name somebody else by now must be opened anew.
  // Errors: UNAUTHENTICATED. In a session, too, once its token has expired.
  absl::Status Identify(const access::AccessControl& access);

  // Anonymous until it has been identified.
  const access::Identity& identity() const;

  // The name under which the domain keeps leases. Empty for an anonymous caller.
  const std::string& principal() const;

  // As of the last Identify(). Thread-safety: on the thread that identifies.
  const access::Rights& rights() const { return *standing_->rights; }

  // What its principal uses of this daemon. Null unless FindUsage() was called, which is done for
  // each session and for callers with quotas.
  void FindUsage(access::UsageBook& book, core::Instant now);
  const std::shared_ptr<access::Usage>& usage() const { return usage_; }

  std::string Peer() const { return call_.peer(); }

  // The caller's, from metadata, if it is 1 to kRequestIdBytesMax printable bytes; else a new one.
  // Always the same.
  const std::string& RequestId();

  // Principal, peer and request id for audit records. Made at the first call, which must not be
  // before Identify().
  const audit::Origin& Origin();

 private:
  const grpc::CallbackServerContext& call_;
  RequestIds& ids_;
  const Arrival arrival_;
  std::shared_ptr<const access::Standing> first_;     // Whose identity it keeps.
  std::shared_ptr<const access::Standing> standing_;  // That counts now.
  std::shared_ptr<access::Usage> usage_;
  uint64_t generation_ = 0;  // Of the rulebook of `standing_`.
  std::string request_id_;
  std::optional<audit::Origin> origin_;
};

}  // namespace lockkeeper::rpc
