// SPDX-License-Identifier: Apache-2.0
//
// The operations of one client at one daemon, over unary calls or over a session. Both are made
// from the protos alone: no client library, no retries.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "support/rpc/lock_client.h"
#include "support/rpc/session_caller.h"

namespace lockkeeper::histories {

using support::Answer;

// Blocks. Thread-safety: not thread-safe.
class Calls {
 public:
  virtual ~Calls() = default;

  virtual Answer<v1::AcquireResponse> Acquire(const v1::AcquireRequest& request,
                                              std::chrono::milliseconds deadline) = 0;
  virtual Answer<v1::ExtendResponse> Extend(const v1::ExtendRequest& request) = 0;
  virtual Answer<v1::ReleaseResponse> Release(const v1::ReleaseRequest& request) = 0;
  virtual Answer<v1::FenceResponse> Fence(const v1::FenceRequest& request) = 0;

  // Whether heartbeats may keep what these calls get.
  virtual bool IsSession() const { return false; }
  // Whether a heartbeat would keep this lease.
  virtual bool KeepsByHeartbeat(const std::string& /*lease_id*/) const { return false; }
  // OK if the heartbeat kept it. Requires: KeepsByHeartbeat.
  virtual Answer<v1::SessionHeartbeatResult> Heartbeat(const std::string& /*lease_id*/) {
    return {};
  }
};

std::unique_ptr<Calls> UnaryCalls(const std::string& address);
std::unique_ptr<Calls> SessionCalls(const std::string& address);

}  // namespace lockkeeper::histories
