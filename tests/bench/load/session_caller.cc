// SPDX-License-Identifier: Apache-2.0
#include "bench/load/session_caller.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <utility>

namespace lockkeeper::bench {
namespace {

constexpr std::chrono::minutes kPatience{1};
constexpr int kBatchMax = 1024;
// Acquires under way, of those that do not wait: a place is free again a while after its answer is
// here, so who uses the last one is refused now and then.
constexpr size_t kUnderWayMax = 8192;

v1::AcquireRequest AcquireOf(const std::string& name) {
  v1::AcquireRequest request;
  request.set_name(name);
  return request;
}

}  // namespace

SessionCaller::SessionCaller(const std::shared_ptr<grpc::Channel>& channel)
    : SessionStream(channel) {
  Start();
  std::unique_lock lock(mutex_);
  Await(lock, [this] { return outstanding_max_ != 0; });
}

template <typename Condition>
void SessionCaller::Await(std::unique_lock<std::mutex>& lock, const Condition& condition) {
  const bool over = changed_.wait_for(lock, kPatience,
                                      [&] { return ended_ || !problem_.empty() || condition(); });
  if (!over) throw std::runtime_error("a session is not answered");
  if (!problem_.empty()) throw std::runtime_error(problem_);
}

void SessionCaller::Acquire(const std::vector<std::string>& names, int ttl_seconds) {
  {
    const std::lock_guard lock(mutex_);
    window_ = std::min(outstanding_max_, kUnderWayMax);
    for (const std::string& name : names) {
      due_.push_back(AcquireOf(name));
      due_.back().mutable_ttl()->set_seconds(ttl_seconds);
    }
  }
  Wake();
  std::unique_lock lock(mutex_);
  Await(lock, [this] { return due_.empty() && outstanding_ == 0; });
}

void SessionCaller::StartWaiting(const std::string& name, size_t count, int wait_seconds) {
  {
    const std::lock_guard lock(mutex_);
    if (count > outstanding_max_) throw std::runtime_error("a session takes fewer waiters");
    window_ = outstanding_max_;
    for (size_t i = 0; i < count; ++i) {
      due_.push_back(AcquireOf(name));
      due_.back().mutable_wait_timeout()->set_seconds(wait_seconds);
    }
  }
  Wake();
}

void SessionCaller::Heartbeat() {
  {
    const std::lock_guard lock(mutex_);
    ++heartbeat_wanted_;
  }
  Wake();
  std::unique_lock lock(mutex_);
  Await(lock, [this] { return heartbeat_answered_ == heartbeat_wanted_; });
}

bool SessionCaller::Fill(v1::SessionRequest& request) {
  const std::lock_guard lock(mutex_);
  if (heartbeat_sent_ != heartbeat_wanted_) {
    request.mutable_heartbeat()->set_number(heartbeat_sent_ = heartbeat_wanted_);
    return true;
  }
  v1::SessionBatch* batch = nullptr;
  for (int i = 0; i < kBatchMax && !due_.empty() && outstanding_ < window_; ++i) {
    if (batch == nullptr) batch = request.mutable_batch();
    v1::SessionOperation& operation = *batch->add_operations();
    operation.set_id(++last_id_);
    *operation.mutable_acquire() = std::move(due_.front());
    due_.pop_front();
    ++outstanding_;
  }
  return batch != nullptr;
}

std::string SessionCaller::Handle(const v1::SessionResponse& response) {
  std::string problem;
  {
    const std::lock_guard lock(mutex_);
    if (response.has_opened()) {
      outstanding_max_ = static_cast<size_t>(response.opened().max_outstanding_operations());
    } else if (response.has_heartbeat_result()) {
      heartbeat_answered_ = response.heartbeat_result().number();
      if (response.heartbeat_result().not_extended_size() != 0) problem = "a lease was not kept";
    } else if (response.has_results()) {
      for (const v1::SessionResult& result : response.results().results()) {
        --outstanding_;
        if (result.has_error()) problem = result.error().message();
        if (!result.acquire().has_lease()) problem.append(problem.empty() ? "not granted" : "");
      }
    } else {
      problem = "an unexpected message came: " + response.ShortDebugString();
    }
    problem_ = problem;
    changed_.notify_all();
  }
  if (problem.empty()) Wake();
  return problem;
}

void SessionCaller::Ended(const std::string& problem) {
  const std::lock_guard lock(mutex_);
  if (problem_.empty()) problem_ = problem;
  ended_ = true;
  changed_.notify_all();
}

}  // namespace lockkeeper::bench
