// SPDX-License-Identifier: Apache-2.0
//
// Somebody who holds one lock all the time by extends, from the protos alone: one call after the
// other at one daemon after the other, and whatever fails is sent again to the next one.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "histories/scene.h"
#include "support/rpc/lock_client.h"
#include "support/rpc/lock_requests.h"

namespace lockkeeper::histories {

// Proves its lease again after a loss. If no daemon can extend the lease before its end, it is
// over, and the holder begins anew.
//
// Thread-safety: not thread-safe. Lifetime: the scene's gates have to live until Stop().
class Holder {
 public:
  static constexpr const char* kLock = "held all the time";

  // Begins at once, with a lease of `ttl`.
  Holder(Scene& scene, std::chrono::milliseconds ttl, std::string lock = kLock);
  ~Holder() { Stop(); }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;

  // Ends leases that began before, too.
  void Stop();

  // Waits until a call is answered with its lease that is sent from now on, or a problem has ended
  // it. Errors: throws std::runtime_error after a minute.
  void AwaitAnswer();

  // Leases that came to their end because no daemon could extend them.
  int ended() const { return ended_; }
  // After Stop(): why a lease was lost before its end. Empty: none was.
  const std::string& problem() const { return problem_; }
  // How often a call failed, by code and reason, such as `14 SERVER_DRAINING`.
  const std::map<std::string, int>& failures() const { return failures_; }

 private:
  using Clock = std::chrono::steady_clock;

  void Hold();
  bool Acquire(support::LockClient& daemon);
  bool Extend(support::LockClient& daemon);
  void Take(const v1::Lease& lease, Clock::time_point sent);
  template <typename Response>
  void NoteFailure(const support::Answer<Response>& answer);

  const std::chrono::milliseconds ttl_;
  const std::string lock_;
  std::string id_ = support::NewLeaseId();
  std::deque<support::LockClient> daemons_;
  int64_t token_ = 0;  // 0: it has no lease.
  int64_t last_token_ = 0;
  std::string proof_;
  Clock::time_point end_;  // As a client counts it.
  std::atomic<int> ended_ = 0;
  std::string problem_;
  std::map<std::string, int> failures_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Clock::time_point answered_;  // When the last call was sent that was answered. Guarded by mutex_.
  bool over_ = false;           // The thread has ended. Likewise.
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace lockkeeper::histories
