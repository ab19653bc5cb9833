// SPDX-License-Identifier: Apache-2.0
#include "rpc/call_gate.h"

namespace lockkeeper::rpc {

// Sequentially consistent, as is Close(): either this sees that the gate is closed, or Close() sees
// that the call is in.
bool CallGate::Enter() {
  calls_.fetch_add(1);
  return !closed_.load();
}

void CallGate::Leave() {
  if (calls_.fetch_sub(1) != 1 || !closed_.load()) return;
  const std::lock_guard lock(mutex_);
  empty_.notify_all();
}

int64_t CallGate::Close(core::Millis limit) {
  closed_.store(true);
  std::unique_lock lock(mutex_);
  empty_.wait_for(lock, limit, [this] { return calls_.load() == 0; });
  return calls_.load();
}

}  // namespace lockkeeper::rpc
