// SPDX-License-Identifier: Apache-2.0
#include "contract/redis/real_world.h"

#include <atomic>
#include <stdexcept>
#include <thread>
#include <utility>

#include "loop/event_loop.h"
#include "redis/client/redis_node.h"
#include "redis/scripts.h"
#include "support/clock/server_clock.h"
#include "support/process/redis_connection.h"
#include "support/process/redis_server.h"

namespace lockkeeper::support {
namespace {

// Long, so that a busy machine never looks like a broken one.
constexpr std::chrono::seconds kPatience{60};

// Some day in 2025. Odd microseconds, so that rounding shows.
constexpr core::NodeTime kStart{1'760'000'000'123'457};

class SilentObserver final : public redis::NodeObserver {
 public:
  void OnConnected(size_t, std::string_view) override {}
  void OnConnectionLost(size_t, const redis::StoreProblem&) override {}
  void OnConnectFailed(size_t, const redis::StoreProblem&) override {}
  void OnScriptLoadedAgain(std::string_view) override {}
  void OnConfirmationEnded(bool, core::Micros) override {}
  void OnLooked(core::Micros, std::optional<core::NodeTime>) override {}
  void OnScriptCallEnded(std::string_view, redis::ScriptCallEnd, core::Micros) override {}
};

// The daemons' clock, if it has to go with the server's. Thread-safety: thread-safe.
class SteppedClock final : public core::Clock {
 public:
  core::Instant Now() const override { return core::Instant(core::Micros(micros_.load())); }
  void StepBy(core::Micros step) { micros_ += step.count(); }

 private:
  std::atomic<int64_t> micros_{core::Micros(std::chrono::hours(1)).count()};
};

// Counts the calls that have no answer yet, of all daemons.
class CountingNode final : public redis::Node {
 public:
  CountingNode(redis::Node& node, int& unanswered) : node_(node), unanswered_(unanswered) {}

  redis::Route RouteOf(std::string_view record_key) const override {
    return node_.RouteOf(record_key);
  }
  redis::Route AnyRoute() const override { return node_.AnyRoute(); }
  void Run(redis::Route route, const redis::ScriptSource& script, redis::Command command,
           redis::ReplyDone done) override {
    node_.Run(route, script, std::move(command), Counted(std::move(done)));
  }
  void Send(redis::Route route, redis::Command command, redis::ReplyDone done) override {
    node_.Send(route, std::move(command), Counted(std::move(done)));
  }
  void Subscribe(const std::string& channel, redis::MessageListener listener) override {
    node_.Subscribe(channel, std::move(listener));
  }
  const redis::NodeLife& life(redis::Route route) const override { return node_.life(route); }
  const std::string& setting_problem() const override { return node_.setting_problem(); }
  core::Assurance assurance() const override { return node_.assurance(); }
  bool MayConfirm(core::Assurance wanted) const override { return node_.MayConfirm(wanted); }
  void Confirm(redis::Route route, core::Assurance wanted, core::Instant deadline,
               redis::ConfirmDone done) override {
    node_.Confirm(route, wanted, deadline, std::move(done));
  }

 private:
  redis::ReplyDone Counted(redis::ReplyDone done) {
    ++unanswered_;
    return [this, done = std::move(done)](absl::StatusOr<redis::Reply> reply) mutable {
      --unanswered_;
      std::move(done)(std::move(reply));
    };
  }

  redis::Node& node_;
  int& unanswered_;
};

class RealWorld final : public RedisWorld {
 public:
  RealWorld(const std::string& program, Guarding guarding)
      : guarding_(guarding),
        server_({.program = program, .environment = clock_.environment()}),
        connection_(server_.socket_path()) {
    clock_.StandStillAt(now_);
    RealWorld::daemon(0);
  }

  ~RealWorld() override {
    loop_.RunAndWait([this] {
      daemons_.clear();
      nodes_.clear();
      counting_.clear();
    });
    loop_.Stop();
  }

  Daemon& daemon(size_t index) override {
    if (loop_.IsLoopThread()) return *daemons_.at(index);
    while (daemons_.size() <= index) AddDaemon();
    return *daemons_[index];
  }

  void OnLoop(absl::FunctionRef<void()> task) override {
    loop_.RunAndWait([task] { task(); });
  }

  bool Await(absl::FunctionRef<bool()> answered) override {
    const core::Instant limit = loop_.Now() + kPatience;
    for (bool done = false; loop_.Now() < limit; std::this_thread::yield()) {
      OnLoop([&] { done = answered(); });
      if (done) return true;
    }
    return false;
  }

  const core::Clock& clock() override { return daemon_clock(); }
  core::Executor& executor() override { return loop_; }
  core::NodeTime NodeNow() override { return now_; }

  void StepNodeClock(core::Micros step) override {
    BetweenCalls([&] { StepServer(step); });
  }

  // With a call under way, a daemon would take the time for what the server needed to answer.
  void LetTimePass(core::Micros time) override {
    BetweenCalls([&] {
      StepServer(time);
      stepped_.StepBy(time);
    });
  }

  void BetweenCalls(absl::FunctionRef<void()> task) override {
    const bool done = Await([&] {
      if (unanswered_ > 0) return false;
      task();
      return true;
    });
    if (!done) throw std::runtime_error("a call is not answered");
  }

  redis::Reply Run(const std::vector<std::string_view>& words) override {
    return connection_.Run(words);
  }

 private:
  void StepServer(core::Micros step) {
    now_.micros += step.count();
    clock_.StandStillAt(now_);
  }

  void AddDaemon() {
    OnLoop([this] {
      const std::string id = core::Hex16(kFirstDaemon + daemons_.size());
      redis::RedisNodeOptions options;
      options.url.socket_path = server_.socket_path();
      options.daemon_id = id;
      options.scripts = redis::AllScripts();
      options.connect_timeout = kPatience;
      options.request_timeout = kPatience;
      nodes_.push_back(std::make_unique<redis::RedisNode>(loop_, options, observer_));
      counting_.push_back(std::make_unique<CountingNode>(*nodes_.back(), unanswered_));
      daemons_.push_back(
          std::make_unique<Daemon>(*counting_.back(), daemon_clock(), loop_, id, guarding_));
    });
    const bool reachable = Await([this] { return nodes_.back()->health().reachable; });
    if (!reachable) throw std::runtime_error("no connection: " + nodes_.back()->health().problem);
  }

  const core::Clock& daemon_clock() const {
    if (guarding_ == Guarding::kNone) return loop_;
    return stepped_;
  }

  const Guarding guarding_;
  core::NodeTime now_ = kStart;
  SteppedClock stepped_;
  ServerClock clock_;
  RedisServer server_;
  RedisConnection connection_;
  SilentObserver observer_;
  loop::EventLoop loop_{"contract"};
  int unanswered_ = 0;
  std::vector<std::unique_ptr<redis::RedisNode>> nodes_;
  std::vector<std::unique_ptr<CountingNode>> counting_;
  std::vector<std::unique_ptr<Daemon>> daemons_;
};

}  // namespace

std::unique_ptr<StoreWorld> MakeRealWorld(const std::string& program, Guarding guarding) {
  return std::make_unique<RealWorld>(program, guarding);
}

}  // namespace lockkeeper::support
