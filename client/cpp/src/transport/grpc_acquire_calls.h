// SPDX-License-Identifier: Apache-2.0
//
// AcquireCalls by unary rpcs, for one acquire.
#pragma once

#include <stop_token>
#include <string>

#include "acquire/acquire_flow.h"
#include "lockkeeper/v1/lock_service.pb.h"
#include "transport/unary_call.h"

namespace lockkeeper::client {

// Thread-safety: thread-compatible.
class GrpcAcquireCalls final : public AcquireCalls {
 public:
  // `request`: with name and lease id. Lifetime: borrows what `ports` does.
  GrpcAcquireCalls(const CallPorts& ports, v1::AcquireRequest request, std::stop_token cancel);

  absl::StatusOr<AcquireAnswer> Acquire(int attempt, Duration wait_timeout,
                                        Duration timeout) override;
  absl::StatusOr<Granted> Claim(Duration timeout) override;
  void TryElsewhere() override;
  bool Pause(Duration delay) override;

 private:
  const CallPorts ports_;
  v1::AcquireRequest request_;
  const std::stop_token cancel_;
  size_t daemon_ = 0;
};

}  // namespace lockkeeper::client
