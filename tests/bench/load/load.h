// SPDX-License-Identifier: Apache-2.0
//
// What the loads of bench_load share: loops that send their next call as soon as the one before is
// answered, when to count them, and what is printed of them. One subcommand for each load.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/status.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/load/figures.h"
#include "support/rpc/secure_channel.h"

namespace lockkeeper::bench {

// Each adds its subcommand to `app`, which runs the load when it is parsed.
void AddUnary(CLI::App& app);    // Acquire and release, or echoes, in unary calls.
void AddEtcd(CLI::App& app);     // Lock and unlock of etcd.
void AddSession(CLI::App& app);  // Acquire and release in sessions.
void AddHeld(CLI::App& app);     // Leases kept by heartbeat, and waiters, of sessions.
void AddSizes(CLI::App& app);    // Memory of one more of something.
void AddLine(CLI::App& app);     // Waiters of unary calls, and hand-overs.
void AddRedis(CLI::App& app);    // The scripts straight on a Redis.
void AddFlood(CLI::App& app);    // One client beside another that attacks.

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

struct LoadOptions {
  std::string address;
  support::ClientFiles tls;  // For an address with TLS.
  size_t connections = 1;
  size_t outstanding = 1;  // Of each connection.
  double seconds = 1;
  size_t watchers = 0;       // Watches beside the load.
  std::string watch_prefix;  // Of the names that they hear of. Empty: all locks.
  size_t deaf_watchers = 0;  // The same that do not read.
};

// A subcommand with these options, which runs `run`.
CLI::App& AddLoad(CLI::App& app, const std::string& name, const std::string& what,
                  const std::function<void(const LoadOptions&)>& run);

// A channel that shares its connection with no other one.
std::shared_ptr<grpc::Channel> ConnectAlone(const std::string& address,
                                            const support::ClientFiles& tls = {});

// How long a load was counted, and what this process used meanwhile.
struct Counted {
  std::chrono::duration<double> elapsed;
  double cpu_seconds;
};

// Lets what is loading already warm up, counts for so many seconds, and waits until `ends` of its
// parts have ended. Errors: throws what a part has failed with.
Counted CountLoad(LoadControl& control, double seconds, size_t ends);

// Prints rpc_per_s, client_cpu_us_per_rpc, calls (`all_calls`: with those before and after), and
// the latencies of each kind of call.
void PrintLoad(const Counted& counted, LatenciesByCall& latencies, uint64_t all_calls);

// Unary calls over gRPC's callback API; each is sent on gRPC's thread as soon as the one before is
// answered. Many loops together are a load of that depth.
//
// Thread-safety: one thread at a time. Lifetime: until it has told `control` that it ended.
class CallLoop {
 public:
  explicit CallLoop(LoadControl& control) : control_(control) {}
  virtual ~CallLoop() = default;
  CallLoop(const CallLoop&) = delete;
  CallLoop& operator=(const CallLoop&) = delete;

  void Start() { SendNext(); }

  // What was measured, by kind of call.
  const LatenciesByCall& latencies() const { return latencies_; }

  // All calls that were answered, also those that are not measured.
  uint64_t calls() const { return calls_; }

 protected:
  Latencies& Of(const std::string& call) { return latencies_[call]; }

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
  LatenciesByCall latencies_;
  std::optional<grpc::ClientContext> context_;
  SteadyClock::time_point sent_;
  uint64_t calls_ = 0;
};

// `make` gives the loop with this number, on the connection that it is told.
using MakeLoop = std::function<std::unique_ptr<CallLoop>(
    LoadControl& control, const std::shared_ptr<grpc::Channel>& channel, size_t number)>;

// Runs the loops, and prints what PrintLoad does. Errors: throws what a loop has failed with.
void RunClosedLoops(const LoadOptions& options, const MakeLoop& make);

}  // namespace lockkeeper::bench
