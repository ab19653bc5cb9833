// SPDX-License-Identifier: Apache-2.0
//
// A closed loop of unary calls over gRPC's callback API: each loop sends its next call as soon as
// the one before is answered, on gRPC's thread. Many loops together are a load of that depth.
#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/support/status.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>

#include "bench/load/latencies.h"

namespace lockkeeper::bench {

// What all loops of a load share: when to count, when to stop, and what went wrong.
//
// Thread-safety: thread-safe.
class LoadControl {
 public:
  enum class Phase { kWarmUp, kCount, kStop };

  Phase phase() const { return phase_.load(std::memory_order_relaxed); }

  // Lets `length` go by. Errors: throws what a loop has failed with, at once.
  void Run(Phase phase, std::chrono::duration<double> length) {
    phase_ = phase;
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, length, [this] { return !problem_.empty(); });
    if (!problem_.empty()) throw std::runtime_error(problem_);
  }

  // Lets the loops end, and waits for `loops` of them.
  void Stop(size_t loops) {
    phase_ = Phase::kStop;
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return ended_ == loops; });
    if (!problem_.empty()) throw std::runtime_error(problem_);
  }

  // A loop ends; not empty: because of this.
  void Ended(const std::string& problem) {
    const std::lock_guard lock(mutex_);
    ++ended_;
    if (problem_.empty()) problem_ = problem;
    changed_.notify_all();
  }

 private:
  std::atomic<Phase> phase_{Phase::kWarmUp};
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t ended_ = 0;
  std::string problem_;
};

// Thread-safety: one thread at a time. Lifetime: until it has told `control` that it ended.
class CallLoop {
 public:
  explicit CallLoop(LoadControl& control) : control_(control) {}
  virtual ~CallLoop() = default;
  CallLoop(const CallLoop&) = delete;
  CallLoop& operator=(const CallLoop&) = delete;

  void Start() { SendNext(); }

  // Adds what was measured, by kind of call.
  virtual void AddTo(LatenciesByCall& latencies) const = 0;

  // All calls that were answered, also those that are not measured.
  uint64_t calls() const { return calls_; }

 protected:
  // Sends the next call with `context`; its answer goes to Answered().
  virtual void Send(grpc::ClientContext& context) = 0;

  // Judges the answer of the call that was sent last. Empty: it is what it should be.
  virtual std::string Check() = 0;

  // Whether the loop may end here.
  virtual bool MayEnd() const { return true; }

  void Answered(const grpc::Status& status, Latencies& latencies) {
    const auto now = SteadyClock::now();
    ++calls_;
    const std::string problem = status.ok() ? Check() : status.error_message();
    if (!problem.empty()) return control_.Ended(problem);
    const LoadControl::Phase phase = control_.phase();
    if (phase == LoadControl::Phase::kCount) latencies.Add(now - sent_);
    if (phase == LoadControl::Phase::kStop && MayEnd()) return control_.Ended("");
    SendNext();
  }

 private:
  void SendNext() {
    context_.emplace();
    sent_ = SteadyClock::now();
    Send(*context_);
  }

  LoadControl& control_;
  std::optional<grpc::ClientContext> context_;
  SteadyClock::time_point sent_;
  uint64_t calls_ = 0;
};

}  // namespace lockkeeper::bench
