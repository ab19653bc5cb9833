// SPDX-License-Identifier: Apache-2.0
//
// A session whose caller waits for its answers, or lets acquires wait.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "bench/load/session.h"

namespace lockkeeper::bench {

// A session for who waits for its answers.
//
// Errors: throws std::runtime_error if something is not as it should be: an error, a lock that is
// not granted, a lease that is not kept, or no answer within a minute.
// Thread-safety: one thread at a time.
class SessionCaller : public SessionStream {
 public:
  // Opens the session.
  explicit SessionCaller(const std::shared_ptr<grpc::Channel>& channel);
  ~SessionCaller() override { Cut(); }
  SessionCaller(const SessionCaller&) = delete;
  SessionCaller& operator=(const SessionCaller&) = delete;

  // Acquires all of them and waits until all are granted. The server makes the lease ids.
  void Acquire(const std::vector<std::string>& names, int ttl_seconds);

  // Sends acquires that wait and does not wait for them. At most as many as the session takes.
  void StartWaiting(const std::string& name, size_t count, int wait_seconds);

  // Keeps all leases alive; returns when it is answered.
  void Heartbeat();

 private:
  bool Fill(v1::SessionRequest& request) override;
  std::string Handle(const v1::SessionResponse& response) override;
  void Ended(const std::string& problem) override;

  template <typename Condition>
  void Await(std::unique_lock<std::mutex>& lock, const Condition& condition);

  std::mutex mutex_;  // Guards all.
  std::condition_variable changed_;
  size_t outstanding_max_ = 0;  // Zero until the session is open.
  size_t window_ = 0;           // Of what is due, how much may be under way.
  std::deque<v1::AcquireRequest> due_;
  size_t outstanding_ = 0;
  uint64_t last_id_ = 0;
  uint64_t heartbeat_wanted_ = 0;
  uint64_t heartbeat_sent_ = 0;
  uint64_t heartbeat_answered_ = 0;
  std::string problem_;
  bool ended_ = false;
};

}  // namespace lockkeeper::bench
