// SPDX-License-Identifier: Apache-2.0
//
// A simulated daemon's connections to the one simulated node: delays, losses, broken connections,
// and the messages that the node publishes to the daemon.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/executor.h"
#include "redis/node/node.h"
#include "simulation/message_order.h"
#include "simulation/process.h"
#include "simulation/schedule.h"
#include "support/fake_node/redis_model.h"
#include "support/manual_executor.h"
#include "support/random.h"

namespace lockkeeper::simulation {

// Called for every command that the node has executed.
using ExecutionListener =
    std::function<void(const std::vector<std::string_view>& words, const redis::Reply& reply)>;

// Lifetime: borrows node, clock and executor. If the link is kept after the process is dead, the
// calls in flight continue, as in the buffers of sockets.
class StoreLink final : public redis::Node {
 public:
  // As RedisNode: a connection without a reply for this long is closed.
  static constexpr core::Micros kReplyTimeout{1'000'000};

  StoreLink(support::RedisModel& server, const core::Clock& clock, support::ManualExecutor& world,
            Process& process, support::Random random, ExecutionListener listener,
            MessageOrder* order = nullptr);
  ~StoreLink() override;

  size_t lanes() const override { return kLanes; }
  void Run(size_t lane, const redis::ScriptSource& script, redis::Command command,
           redis::ReplyDone done) override;
  void Send(redis::Command command, redis::ReplyDone done) override;
  const redis::NodeLife& life(size_t lane) const override;
  core::Assurance assurance() const override;

  void Subscribe(const std::string& channel, redis::MessageListener listener) override;

  // The process was killed. Each of its calls in flight is executed or not, by chance.
  void Orphan();

  // Applies a fault of a daemon's connections.
  void Strike(const Fault& fault);
  void Cut(core::Micros duration);

  // Whether a call in flight expects at most `beats` beats of the marker.
  bool HasUnderWay(int64_t beats) const;

  // When the node executed the latest call that confirmed a lease to this daemon. The beginning of
  // time if the call only confirmed it again.
  core::Instant lease_confirmed() const { return lease_confirmed_; }

 private:
  static constexpr size_t kLanes = 2;
  struct Request;
  struct Lane {
    uint64_t connection = 0;  // Rises with each new one.
    core::Instant last_arrival;
    core::Instant last_reply;
    std::vector<std::shared_ptr<Request>> open;
  };

  void Submit(size_t lane, std::shared_ptr<Request> request);
  void Arrive(size_t lane, const std::shared_ptr<Request>& request);
  void Reply(size_t lane, const std::shared_ptr<Request>& request);
  void BreakLane(size_t lane);
  void Finish(const std::shared_ptr<Request>& request, absl::StatusOr<redis::Reply> reply);
  void DropSubscription(core::Micros duration);
  void Listen();
  core::Micros Delay();
  core::Micros MessageDelay();
  void At(core::Instant time, core::Task task);

  support::RedisModel& server_;
  const core::Clock& clock_;
  support::ManualExecutor& world_;
  Process& process_;
  support::Random random_;
  ExecutionListener listener_;
  MessageOrder* const order_;  // Null: as chance has it.
  std::vector<Lane> lanes_{kLanes};
  std::vector<std::shared_ptr<Request>> orphans_;
  std::string channel_;
  redis::MessageListener on_message_;
  uint64_t subscription_ = 0;
  bool subscribed_ = false;
  bool orphan_ = false;

  core::Instant last_confirmed_ = core::Instant::min();
  core::Instant lease_confirmed_ = core::Instant::min();
  core::Instant away_until_;
  core::Instant slow_until_;
  core::Micros slow_most_{};
  core::Instant replies_lost_until_;
  core::Instant messages_lost_until_;
  core::Instant messages_late_until_;
};

}  // namespace lockkeeper::simulation
