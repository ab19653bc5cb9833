// SPDX-License-Identifier: Apache-2.0
//
// An in-process redis::Node: one daemon's connections to a RedisModel, over a network that the test
// controls. Requests and replies each take a turn of the loop, or the time that the test sets, and
// keep their order on a connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "core/clock.h"
#include "core/executor.h"
#include "redis/node/node.h"
#include "support/fake_node/redis_model.h"

namespace lockkeeper::support {

// What happens to one request. A loss is noticed when the reply timeout has passed. Until then all
// later requests on the connection are lost in the same way, as if it was broken.
enum class Fate {
  kAnswered,
  kRequestLost,  // Not executed; the daemon cannot know.
  kReplyLost,    // Executed; the daemon cannot know.
};

struct Delivery {
  Fate fate = Fate::kAnswered;
  core::Micros request_delay{0};
  core::Micros reply_delay{0};
};

// What happens to requests in flight when the connections break.
enum class InFlight { kLost, kExecuted };

struct FakeNodeOptions {
  size_t connections = 2;
  // A connection without a reply for this long is closed, and its requests are lost.
  core::Micros reply_timeout{500'000};
  core::Assurance assurance = core::Assurance::kMemory;
};

// Thread-safety: loop-thread only. Lifetime: borrows its collaborators.
class FakeNode final : public redis::Node {
 public:
  using Options = FakeNodeOptions;

  FakeNode(RedisModel& server, const core::Clock& clock, core::Executor& executor,
           Options options = {});
  ~FakeNode() override;

  redis::Route RouteOf(std::string_view record_key) const override;
  redis::Route AnyRoute() const override { return {}; }
  void Run(redis::Route route, const redis::ScriptSource& script, redis::Command command,
           redis::ReplyDone done) override;
  void Send(redis::Route route, redis::Command command, redis::ReplyDone done) override;
  // Messages take a turn, like replies, and are not lost.
  void Subscribe(const std::string& channel, redis::MessageListener listener) override;
  // As if only the connection for messages had broken, and been restored.
  void StopListening();
  void ListenAgain();
  const redis::NodeLife& life(redis::Route route) const override;
  const std::string& setting_problem() const override { return setting_problem_; }
  core::Assurance assurance() const override;
  bool MayConfirm(core::Assurance wanted) const override;
  // Answers in the next turn, whatever the network does.
  void Confirm(redis::Route route, core::Assurance wanted, core::Instant deadline,
               redis::ConfirmDone done) override;

  // From now on the server confirms as much as this of what is asked.
  void SetConfirmed(core::Assurance most) { confirmed_ = most; }

  // From now on `network` decides what happens to each request, in the order of sending. Empty: all
  // are answered at once.
  void SetNetwork(absl::AnyInvocable<Delivery(Words)> network) { network_ = std::move(network); }

  // From now on it sees this setting of the server; empty: none is wrong.
  void SeeSettingProblem(std::string problem) { setting_problem_ = std::move(problem); }

  // Sets what happens to the next request for which nothing is planned yet.
  void PlanNext(Delivery delivery) { planned_.push_back(delivery); }

  // All connections break; requests answer STORE_UNAVAILABLE until ComeBack().
  void GoAway(InFlight in_flight);
  void ComeBack() { away_ = false; }

  // From now on the server before may have taken writes for so long after this one took its place.
  void SeeIsolation(core::Millis isolation) { isolation_ = isolation; }

  // From now on the node cannot see that the server is durable.
  void SeeAsVolatile() { sees_durability_ = false; }

  // Requests that this node has sent so far, including SCRIPT LOAD.
  uint64_t requests() const { return requests_; }

 private:
  struct Request;
  struct Connection;
  using ConnectionPtr = std::shared_ptr<Connection>;

  void Submit(redis::Route route, std::shared_ptr<Request> request);
  void Deliver(const ConnectionPtr& connection, std::shared_ptr<Request> request);
  void OnArrival(const ConnectionPtr& connection);
  void OnReply(const ConnectionPtr& connection);
  void Answer(const ConnectionPtr& connection, Request& request);
  void LoadAndRunAgain(const ConnectionPtr& connection, Request& request);
  void GiveUp(const ConnectionPtr& connection);
  Delivery NextDelivery(Words words);
  void At(core::Instant time, core::Task task);

  RedisModel& server_;
  const core::Clock& clock_;
  core::Executor& executor_;
  const Options options_;

  std::string channel_;
  redis::MessageListener on_message_;
  std::optional<uint64_t> subscription_;
  std::vector<ConnectionPtr> connections_;  // The current ones.
  absl::AnyInvocable<Delivery(Words)> network_;
  std::deque<Delivery> planned_;
  bool away_ = false;
  bool sees_durability_ = true;
  core::Millis isolation_{0};
  core::Assurance confirmed_ = core::Assurance::kNone;
  std::string setting_problem_;
  mutable redis::NodeLife seen_life_;
  uint64_t requests_ = 0;
  uint64_t next_timer_ = 0;
  std::map<uint64_t, std::unique_ptr<core::Timer>> timers_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace lockkeeper::support
