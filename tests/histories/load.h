// SPDX-License-Identifier: Apache-2.0
//
// Callers that acquire and release locks which nobody else wants, and note how long each call takes
// and which ones fail.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "histories/scene.h"
#include "support/rpc/lock_client.h"

namespace lockkeeper::histories {

// Of the calls of some time.
struct LoadReport {
  size_t calls = 0;
  std::chrono::microseconds median{};
  std::chrono::microseconds p99{};
  std::chrono::microseconds longest{};
  // How many failed, by code and reason or message.
  std::map<std::string, int> failures;
};

// Thread-safety: not thread-safe. Lifetime: the scene's gates have to live until the end.
class Load {
 public:
  // Begins at once, with so many callers, by turns at the daemons.
  Load(Scene& scene, size_t callers);
  ~Load();
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  // Of the calls that have ended since the last report.
  LoadReport Report();

 private:
  void Call(size_t caller, support::LockClient daemon);
  template <typename Response>
  void Note(const support::Answer<Response>& answer, std::chrono::steady_clock::time_point sent);

  std::mutex mutex_;
  std::vector<std::chrono::microseconds> times_;  // Guarded by mutex_, as the next one.
  std::map<std::string, int> failures_;
  std::atomic<bool> stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace lockkeeper::histories
