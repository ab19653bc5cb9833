// SPDX-License-Identifier: Apache-2.0
#include "transport/acquire_operations.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "os/random_bits.h"
#include "transport/convert.h"

namespace lockkeeper::client {

AcquireOperations::AcquireOperations(const CallPorts& ports, v1::SessionOperation request,
                                     std::stop_token cancel)
    : ports_(ports),
      request_(std::move(request)),
      is_our_id_(request_.acquire().lease_id().empty()),
      cancel_(std::move(cancel)) {
  AcquireOperations::TakeNewLeaseId();
}

absl::StatusOr<AcquireAnswer> AcquireOperations::Acquire(int attempt, Duration wait_timeout,
                                                         Duration timeout) {
  v1::AcquireRequest& request = *request_.mutable_acquire();
  request.set_attempt(attempt);
  if (wait_timeout > Duration::zero()) {
    *request.mutable_wait_timeout() = ToProto(wait_timeout);
  } else {
    request.clear_wait_timeout();
  }
  daemon_ = ports_.daemons.current();
  return AcquiredFrom(RunOnce(ports_, daemon_, request_, timeout, cancel_));
}

absl::StatusOr<Granted> AcquireOperations::Claim(Duration timeout) {
  v1::SessionOperation request;
  request.mutable_extend()->set_name(request_.acquire().name());
  request.mutable_extend()->set_lease_id(request_.acquire().lease_id());
  request.set_traceparent(request_.traceparent());
  request.set_tracestate(request_.tracestate());
  return ExtendedFrom(RunOnce(ports_, daemon_, std::move(request), timeout, cancel_));
}

void AcquireOperations::TryElsewhere(const absl::Status& why) {
  ports_.daemons.Failed(daemon_, why);
}

bool AcquireOperations::TakeNewLeaseId() {
  if (!is_our_id_) return false;
  const auto [high, low] = os::Random128Bits();  // A lease id is a credential.
  request_.mutable_acquire()->set_lease_id(
      absl::StrCat(absl::Hex(high, absl::kZeroPad16), absl::Hex(low, absl::kZeroPad16)));
  return true;
}

bool AcquireOperations::Pause(Duration delay) { return PauseFor(delay, cancel_); }

}  // namespace lockkeeper::client
