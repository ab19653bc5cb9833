// SPDX-License-Identifier: Apache-2.0
//
// A simulated daemon's connections to one simulated Redis node, and the messages that the node
// publishes to the daemon. After a failover they are moved to another node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "redis/node/node.h"
#include "simulation/link.h"
#include "support/fake_node/redis_model.h"

namespace lockkeeper::simulation {

// Called for every command that a node has executed.
using ExecutionListener =
    std::function<void(const support::RedisModel& server,
                       const std::vector<std::string_view>& words, const redis::Reply& reply)>;

// The node's replicas, as all daemons see them.
struct Replicas {
  bool must_confirm = false;  // Every lease.
  core::Instant away_until;
  // Whenever a daemon is about to look for those that it misses.
  std::function<void()> on_missed = [] {};
};

// Lifetime: borrows the nodes and their replicas besides.
class StoreLink final : public redis::Node, public Link {
 public:
  StoreLink(support::RedisModel& server, const core::Clock& clock, support::ManualExecutor& world,
            Process& process, support::Random random, ExecutionListener listener,
            const Replicas& replicas, MessageOrder* order = nullptr);
  ~StoreLink() override;

  redis::Route RouteOf(std::string_view record_key) const override;
  redis::Route AnyRoute() const override { return {}; }
  void Run(redis::Route route, const redis::ScriptSource& script, redis::Command command,
           redis::ReplyDone done) override;
  void Send(redis::Route route, redis::Command command, redis::ReplyDone done) override;
  const redis::NodeLife& life(redis::Route route) const override;
  const std::string& setting_problem() const override;
  core::Assurance assurance() const override;
  bool MayConfirm(core::Assurance wanted) const override;
  void Confirm(redis::Route route, core::Assurance wanted, core::Instant deadline,
               redis::ConfirmDone done) override;

  void Subscribe(const std::string& channel, redis::MessageListener listener) override;

  void Orphan() override;
  void Strike(const Fault& fault) override;
  void Cut(core::Micros duration) override;

  // The Sentinels name this primary, or none: all connections to the one so far break. What was
  // sent may still arrive where it was sent to.
  void MoveTo(support::RedisModel& server);
  void MoveNowhere();

  // Whether a call may still be executed by a store whose marker has only so many beats.
  bool HasUnderWay(int64_t beats) const;

  // Whether a call is being sent again, behind its script, that the node did not know.
  bool LoadsScript() const;

  // When the node executed the latest call that confirmed a lease to this daemon. The beginning of
  // time if the call only confirmed it again.
  core::Instant lease_confirmed() const { return lease_confirmed_; }

 private:
  static constexpr size_t kConnections = 2;
  struct Sent;

  void Send(size_t place, redis::Command command, const redis::ScriptSource* script,
            redis::ReplyDone done);
  bool Execute(Request& request) override;
  void OnReply(size_t place, const RequestPtr& request) override;
  void Fail(const RequestPtr& request, const absl::Status& why) override;
  void Finish(const RequestPtr& request, absl::StatusOr<redis::Reply> reply);
  void DropSubscription(core::Micros duration);
  void Listen();
  void StopListening();
  core::Micros MessageDelay();
  void MissReplicas();
  void Probe();

  support::RedisModel* server_;  // That the Sentinels name, as far as this daemon knows.
  ExecutionListener listener_;
  std::string channel_;
  redis::MessageListener on_message_;
  uint64_t subscription_ = 0;
  bool subscribed_ = false;

  core::Instant last_confirmed_ = core::Instant::min();
  core::Instant lease_confirmed_ = core::Instant::min();
  const Replicas& replicas_;
  bool replicas_missing_ = false;  // As the daemon has seen last.
  core::Instant confirmations_down_until_;
  core::Instant cut_until_;  // Not because of a failover.
  core::Instant messages_lost_until_;
  core::Instant messages_late_until_;
};

}  // namespace lockkeeper::simulation
