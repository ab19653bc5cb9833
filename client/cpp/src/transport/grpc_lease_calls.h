// SPDX-License-Identifier: Apache-2.0
//
// LeaseCalls by unary rpcs, on the connections that acquires do not use.
#pragma once

#include <grpcpp/client_context.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_set>

#include "renewal/lease_calls.h"
#include "transport/channels.h"

namespace lockkeeper::client {

// Thread-safety: thread-safe, but for destroying. Completion: on gRPC's threads. Lifetime: borrows
// `channels`.
class GrpcLeaseCalls final : public LeaseCalls {
 public:
  explicit GrpcLeaseCalls(Channels& channels) : channels_(channels) {}
  // Requires: nothing is under way, see Close.
  ~GrpcLeaseCalls() override = default;

  // Cancels what is under way and waits until the last `done` has run. No call may come after it.
  void Close();

  void Extend(const LeaseRef& lease, std::optional<Duration> ttl, Duration timeout,
              absl::AnyInvocable<void(ExtendAnswer) &&> done) override;
  void Release(const LeaseRef& lease, Duration timeout,
               absl::AnyInvocable<void(absl::StatusOr<ReleaseOutcome>) &&> done) override;

 private:
  template <typename Request, typename Response>
  struct Call;

  void Begin(grpc::ClientContext& context);
  void End(std::optional<grpc::ClientContext>& context);
  // What was answered; makes the next call go elsewhere if this daemon did not serve.
  absl::Status StatusOf(const grpc::Status& answered, size_t daemon);

  Channels& channels_;
  std::mutex mutex_;
  std::condition_variable all_ended_;
  std::unordered_set<grpc::ClientContext*> under_way_;  // Guarded by mutex_.
};

}  // namespace lockkeeper::client
