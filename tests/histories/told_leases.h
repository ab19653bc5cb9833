// SPDX-License-Identifier: Apache-2.0
//
// Somebody who acquires one new lock after the other, at one daemon after the other, and remembers
// which leases it was told of: a failover may have lost them.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "histories/scene.h"
#include "support/rpc/lock_client.h"

namespace lockkeeper::histories {

// Thread-safety: not thread-safe. Lifetime: the scene's gates have to live until the end.
class ToldLeases {
 public:
  // Begins at once.
  explicit ToldLeases(Scene& scene);
  ~ToldLeases();
  ToldLeases(const ToldLeases&) = delete;
  ToldLeases& operator=(const ToldLeases&) = delete;

  // The names of the locks since the last call.
  std::vector<std::string> Take();

  // Waits until so many more were granted. Errors: throws std::runtime_error after a minute.
  void AwaitMore(size_t count);

 private:
  void Acquire();

  std::deque<support::LockClient> daemons_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> told_;  // Guarded by mutex_, as the next one.
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace lockkeeper::histories
