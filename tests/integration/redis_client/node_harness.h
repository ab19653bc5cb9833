// SPDX-License-Identifier: Apache-2.0
//
// A RedisNode on an event loop of its own, asked from the test's thread: calls wait for their
// answer, health and observations can be waited for.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "loop/event_loop.h"
#include "redis/client/redis_node.h"
#include "redis/scripts.h"
#include "support/process/redis_server.h"

namespace lockkeeper::redis {

inline constexpr std::chrono::seconds kPatience{60};

// Counts what the node tells. Thread-safety: thread-safe.
class CountingObserver : public NodeObserver {
 public:
  void OnConnected(size_t, std::string_view) override { ++connected; }
  void OnConnectionLost(size_t, const StoreProblem& problem) override {
    {
      const std::lock_guard lock(mutex);
      losses.push_back(problem.text);
    }
    ++lost;
  }
  void OnConnectFailed(size_t, const StoreProblem&) override { ++failed; }
  void OnScriptLoadedAgain(std::string_view) override { ++loaded_again; }
  void OnConfirmationEnded(bool is_confirmed, core::Micros) override {
    ++(is_confirmed ? confirmed : not_confirmed);
  }
  void OnLooked(core::Micros elapsed, std::optional<core::NodeTime> clock) override {
    const std::lock_guard lock(mutex);
    looks.emplace_back(elapsed, clock);
  }
  void OnScriptCallEnded(std::string_view, ScriptCallEnd end, core::Micros) override {
    ++ends[static_cast<size_t>(end)];
  }

  int EndsOf(ScriptCallEnd end) const { return ends[static_cast<size_t>(end)]; }

  std::atomic<int> connected = 0;
  std::atomic<int> lost = 0;
  std::atomic<int> failed = 0;
  std::atomic<int> loaded_again = 0;
  std::atomic<int> confirmed = 0;
  std::atomic<int> not_confirmed = 0;
  std::array<std::atomic<int>, 4> ends{};
  std::mutex mutex;
  std::vector<std::string> losses;  // Why connections were lost. Guarded by mutex, as the next.
  std::vector<std::pair<core::Micros, std::optional<core::NodeTime>>> looks;
};

class NodeHarness {
 public:
  // Options but for the URL, which may not be rediss:// unless `adjust` gives `tls`; `connections`
  // is 1 unless the test says otherwise.
  using Adjust = std::function<void(RedisNodeOptions&)>;

  explicit NodeHarness(const std::string& url, const Adjust& adjust = [](RedisNodeOptions&) {});
  ~NodeHarness();
  NodeHarness(const NodeHarness&) = delete;
  NodeHarness& operator=(const NodeHarness&) = delete;

  loop::EventLoop& loop() { return loop_; }
  RedisNode& node() { return *node_; }
  CountingObserver& observed() { return observer_; }

  // Waits until the health is as asked; throws std::runtime_error with the last one if never.
  NodeHealth AwaitHealth(const std::function<bool(const NodeHealth&)>& is_as_wanted);
  // The same of the healths that there ever were, however short: the first that is as asked.
  NodeHealth AwaitSeen(const std::function<bool(const NodeHealth&)>& is_as_wanted);
  NodeHealth AwaitReachable();
  NodeHealth AwaitAway();

  // Starts a command in the next turn.
  using Answer = absl::StatusOr<Reply>;
  std::future<Answer> Start(std::vector<std::string> words);
  std::future<Answer> StartScript(size_t connection, const ScriptSource& script,
                                  std::vector<std::string> arguments);

  // The same, and waits.
  Answer Ask(std::vector<std::string> words);
  Answer Call(const ScriptSource& script, std::vector<std::string> arguments);

  // Ends the node (not the loop): what is pending is answered.
  void Close();

 private:
  CountingObserver observer_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<NodeHealth> healths_;  // All, the present one last.
  loop::EventLoop loop_{"node"};
  std::unique_ptr<RedisNode> node_;
};

// A script with its real digest, as the build makes it for those in the repository. The server
// knows it then.
struct TestScript {
  TestScript(const support::RedisServer& server, std::string_view text)
      : digest(server.Run({"SCRIPT", "LOAD", std::string(text)}).text),
        source{"test", text, digest} {}

  const std::string digest;
  const ScriptSource source;
};

Command CommandOf(const std::vector<std::string>& words);

// EVALSHA of a script without keys.
Command CallOf(const ScriptSource& script, const std::vector<std::string>& arguments);

// What must come, or std::runtime_error.
template <typename T>
T Await(std::future<T> future) {
  if (future.wait_for(kPatience) != std::future_status::ready) {
    throw std::runtime_error("no answer");
  }
  return future.get();
}

// "UNAVAILABLE/OUTCOME_UNKNOWN" reason of an answer, "" if it is a reply.
std::string ReasonName(const absl::StatusOr<Reply>& answer);

}  // namespace lockkeeper::redis
