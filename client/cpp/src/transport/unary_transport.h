// SPDX-License-Identifier: Apache-2.0
//
// Runs each operation as a unary rpc. Acquires have their own connection.
#pragma once

#include <condition_variable>
#include <mutex>
#include <unordered_map>

#include "transport/channels.h"
#include "transport/operation.h"

namespace lockkeeper::client {

// Thread-safety: thread-safe, except destroying. Completion: on gRPC's threads. Lifetime: borrows
// `daemon` and `clock`.
class UnaryTransport final : public Transport {
 public:
  UnaryTransport(const Channels::Endpoint& daemon, const Clock& clock)
      : daemon_(daemon), clock_(clock) {}
  // Requires: Close was called, or nothing is in flight.
  ~UnaryTransport() override = default;

  void Run(PendingOperationPtr operation) override;
  void Cancel(const PendingOperationPtr& operation) override;

  // Cancels the operations in flight and waits until the last `done` has run. Must be the last
  // call.
  void Close();

 private:
  struct Call;

  void Begin(Call& call);
  void End(Call& call);

  const Channels::Endpoint& daemon_;
  const Clock& clock_;
  std::mutex mutex_;
  std::condition_variable all_ended_;
  std::unordered_map<const PendingOperation*, Call*> in_flight_;  // Guarded by mutex_.
};

}  // namespace lockkeeper::client
