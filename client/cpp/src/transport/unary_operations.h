// SPDX-License-Identifier: Apache-2.0
//
// Operations as unary rpcs: the way to a daemon that needs nothing but gRPC. Acquires have a
// connection of their own.
#pragma once

#include <condition_variable>
#include <mutex>
#include <unordered_map>

#include "transport/channels.h"
#include "transport/operation.h"

namespace lockkeeper::client {

// Thread-safety: thread-safe, but for destroying. Completion: on gRPC's threads. Lifetime: borrows
// `daemon` and `clock`.
class UnaryOperations final : public Operations {
 public:
  UnaryOperations(const Channels::Daemon& daemon, const Clock& clock)
      : daemon_(daemon), clock_(clock) {}
  // Requires: nothing is under way, see Close.
  ~UnaryOperations() override = default;

  void Run(OperationPtr operation) override;
  void Cancel(const OperationPtr& operation) override;

  // Cancels what is under way and waits until the last `done` has run. No call may come after it.
  void Close();

 private:
  struct Call;

  void Begin(Call& call);
  void End(Call& call);

  const Channels::Daemon& daemon_;
  const Clock& clock_;
  std::mutex mutex_;
  std::condition_variable all_ended_;
  std::unordered_map<const Operation*, Call*> under_way_;  // Guarded by mutex_.
};

}  // namespace lockkeeper::client
