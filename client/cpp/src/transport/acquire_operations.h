// SPDX-License-Identifier: Apache-2.0
//
// Carries out the calls of one acquire as operations at the daemon that is in use.
#pragma once

#include <stop_token>
#include <string>

#include "acquire/acquire_flow.h"
#include "lockkeeper/v1/lock_service.pb.h"
#include "transport/blocking_operation.h"

namespace lockkeeper::client {

// Thread-safety: thread-compatible.
class AcquireOperations final : public AcquireCalls {
 public:
  // `request` has the name, and the lease id if the caller chose it. The claim has its trace, too.
  // Lifetime: borrows what `ports` borrows. Requires: `request` is an acquire.
  AcquireOperations(const CallPorts& ports, v1::SessionOperation request, std::stop_token cancel);

  const std::string& lease_id() const { return request_.acquire().lease_id(); }

  absl::StatusOr<AcquireAnswer> Acquire(int attempt, Duration wait_timeout,
                                        Duration timeout) override;
  absl::StatusOr<Granted> Claim(Duration timeout) override;
  void TryElsewhere(const absl::Status& why) override;
  bool TakeNewLeaseId() override;
  bool Pause(Duration delay) override;

 private:
  const CallPorts ports_;
  v1::SessionOperation request_;
  const bool is_our_id_;
  const std::stop_token cancel_;
  size_t daemon_ = 0;
};

}  // namespace lockkeeper::client
