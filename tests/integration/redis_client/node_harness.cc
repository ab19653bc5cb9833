// SPDX-License-Identifier: Apache-2.0
#include "node_harness.h"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <utility>

#include "core/errors.h"

namespace lockkeeper::redis {
namespace {

std::string Describe(const NodeHealth& health) {
  return std::string(health.reachable ? "reachable" : "away") +
         (health.refused ? ", refused" : "") + ": " + health.problem;
}

}  // namespace

NodeHarness::NodeHarness(const std::string& url, const Adjust& adjust) {
  RedisNodeOptions options{.url = *ParseRedisUrl(url), .daemon_id = "test", .connections = 1};
  // A busy machine must not look like a server that stands still.
  options.request_timeout = std::chrono::seconds(20);
  options.connect_timeout = std::chrono::seconds(20);
  options.backoff = {std::chrono::milliseconds(1), std::chrono::milliseconds(20)};
  adjust(options);
  loop_.RunAndWait([&] {
    node_ = std::make_unique<RedisNode>(loop_, options, observer_);
    healths_.push_back(node_->health());
    node_->SetHealthListener([this](const NodeHealth& health) {
      const std::lock_guard lock(mutex_);
      healths_.push_back(health);
      changed_.notify_all();
    });
  });
}

NodeHarness::~NodeHarness() {
  loop_.RunAndWait([this] { node_.reset(); });
  loop_.Stop();
}

NodeHealth NodeHarness::AwaitHealth(const std::function<bool(const NodeHealth&)>& is_as_wanted) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, kPatience, [&] { return is_as_wanted(healths_.back()); })) {
    throw std::runtime_error("the health stays: " + Describe(healths_.back()));
  }
  return healths_.back();
}

NodeHealth NodeHarness::AwaitSeen(const std::function<bool(const NodeHealth&)>& is_as_wanted) {
  std::unique_lock lock(mutex_);
  std::optional<NodeHealth> seen;
  const auto found = [&] {
    const auto first = std::ranges::find_if(healths_, is_as_wanted);
    if (first != healths_.end()) seen = *first;
    return seen.has_value();
  };
  if (!changed_.wait_for(lock, kPatience, found)) {
    throw std::runtime_error("the health was never so, and is: " + Describe(healths_.back()));
  }
  return *seen;
}

NodeHealth NodeHarness::AwaitReachable() {
  return AwaitHealth([](const NodeHealth& health) { return health.reachable; });
}

NodeHealth NodeHarness::AwaitAway() {
  return AwaitHealth([](const NodeHealth& health) { return !health.reachable; });
}

std::future<NodeHarness::Answer> NodeHarness::Start(std::vector<std::string> words) {
  auto promise = std::make_unique<std::promise<Answer>>();
  std::future<Answer> future = promise->get_future();
  loop_.Post([this, words = std::move(words), promise = std::move(promise)]() mutable {
    node_->Send(node_->AnyRoute(), CommandOf(words), [promise = std::move(promise)](Answer answer) {
      promise->set_value(std::move(answer));
    });
  });
  return future;
}

std::future<NodeHarness::Answer> NodeHarness::StartScript(size_t connection,
                                                          const ScriptSource& script,
                                                          std::vector<std::string> arguments) {
  auto promise = std::make_unique<std::promise<Answer>>();
  std::future<Answer> future = promise->get_future();
  loop_.Post([this, connection, &script, arguments = std::move(arguments),
              promise = std::move(promise)]() mutable {
    node_->Run(
        {connection}, script, CallOf(script, arguments),
        [promise = std::move(promise)](Answer answer) { promise->set_value(std::move(answer)); });
  });
  return future;
}

NodeHarness::Answer NodeHarness::Ask(std::vector<std::string> words) {
  return Await(Start(std::move(words)));
}

NodeHarness::Answer NodeHarness::Call(const ScriptSource& script,
                                      std::vector<std::string> arguments) {
  return Await(StartScript(0, script, std::move(arguments)));
}

void NodeHarness::Close() {
  loop_.RunAndWait([this] { node_->Close(); });
}

Command CommandOf(const std::vector<std::string>& words) {
  Command command(words.size());
  for (const std::string& word : words) command.Word(word);
  return command;
}

Command CallOf(const ScriptSource& script, const std::vector<std::string>& arguments) {
  Command command(3 + arguments.size());
  command.Word("EVALSHA").Word(script.sha1).Number(0);
  for (const std::string& argument : arguments) command.Word(argument);
  return command;
}

std::string ReasonName(const absl::StatusOr<Reply>& answer) {
  if (answer.ok()) return "";
  const auto reason = core::ReasonOf(answer.status());
  return reason ? std::string(core::RowOf(*reason).name) : "no reason";
}

}  // namespace lockkeeper::redis
