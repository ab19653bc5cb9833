// SPDX-License-Identifier: Apache-2.0
//
// The calls of ListLocks that are under way, or whose answer was not taken yet. An answer may have
// megabytes, and gRPC keeps it for as long as its client does not read: so there are few of them.
#pragma once

#include <grpcpp/server_context.h>

#include <algorithm>
#include <deque>
#include <mutex>

#include "core/limits.h"

namespace lockkeeper::rpc {

// Thread-safety: thread-safe. Lifetime: borrows the contexts between Enter() and Leave().
class OpenLists {
 public:
  // Cancels the oldest if there are too many.
  void Enter(const grpc::CallbackServerContext& call) {
    const std::lock_guard lock(mutex_);
    if (calls_.size() >= core::limits::kListsMax) {
      const grpc::CallbackServerContext& oldest = *calls_.front();
      calls_.pop_front();
      oldest.TryCancel();
    }
    calls_.push_back(&call);
  }

  // Does nothing if it was cancelled.
  void Leave(const grpc::CallbackServerContext& call) {
    const std::lock_guard lock(mutex_);
    std::erase(calls_, &call);
  }

 private:
  // Recursive: a call that is cancelled may leave before TryCancel returns.
  std::recursive_mutex mutex_;
  std::deque<const grpc::CallbackServerContext*> calls_;  // The oldest first.
};

}  // namespace lockkeeper::rpc
