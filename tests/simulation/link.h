// SPDX-License-Identifier: Apache-2.0
//
// A simulated daemon's connections to the one simulated store, whatever store that is: delays,
// losses and broken connections.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "core/clock.h"
#include "core/executor.h"
#include "simulation/message_order.h"
#include "simulation/process.h"
#include "simulation/schedule.h"
#include "support/manual_executor.h"
#include "support/random.h"

namespace lockkeeper::simulation {

// Lifetime: borrows clock, executor and process. If the link is kept after the process is dead, the
// calls in flight continue, as in the buffers of sockets.
class Link {
 public:
  // As RedisNode: a connection without a reply for this long is closed.
  static constexpr core::Micros kReplyTimeout{1'000'000};

  virtual ~Link() = default;

  // The process was killed. Each of its calls in flight is executed or not, by chance.
  virtual void Orphan();

  // Applies a fault of a daemon's connections.
  virtual void Strike(const Fault& fault);
  virtual void Cut(core::Micros duration);

 protected:
  // How long a message takes if nothing is slow, in microseconds.
  static constexpr int64_t kDelayMin = 30;
  static constexpr int64_t kDelayMax = 600;

  // One request on its way to the store and back.
  struct Request {
    virtual ~Request() = default;

    uint64_t connection = 0;
    bool lost = false;        // Will not be executed.
    bool reply_lost = false;  // Will be executed without an answer.
    bool executed = false;
    bool finished = false;  // The daemon has its reply, or knows that there will be none.
  };
  using RequestPtr = std::shared_ptr<Request>;

  // It keeps the order of its requests, and that of its replies.
  struct Connection {
    uint64_t number = 0;  // Rises with each new one.
    core::Instant last_arrival;
    core::Instant last_reply;
    std::vector<RequestPtr> open;
  };

  Link(const core::Clock& clock, support::ManualExecutor& world, Process& process,
       support::Random random, MessageOrder* order, size_t connections)
      : clock_(clock),
        world_(world),
        process_(process),
        random_(random),
        order_(order),
        connections_(connections) {}

  void Submit(size_t place, RequestPtr request);

  // The request has arrived at the store. False if it is from before a restart: then nothing
  // happens.
  virtual bool Execute(Request& request) = 0;
  // Its reply has arrived at the daemon.
  virtual void OnReply(size_t place, const RequestPtr& request) = 0;
  // There will be no reply.
  virtual void Fail(const RequestPtr& request, const absl::Status& why) = 0;

  bool away() const { return clock_.Now() < away_until_; }
  // All connections break, and new ones come after that, however long it was cut off before.
  void ComeBackAfter(core::Micros duration);
  core::Micros Delay();
  void At(core::Instant time, core::Task task);

  const core::Clock& clock_;
  support::ManualExecutor& world_;
  Process& process_;
  support::Random random_;
  MessageOrder* const order_;  // Null: as chance has it.
  std::vector<Connection> connections_;
  std::vector<RequestPtr> broken_off_;  // Were open on a connection that broke.
  bool orphan_ = false;
  core::Instant slow_until_;

 private:
  void Arrive(size_t place, const RequestPtr& request);
  void Reply(size_t place, const RequestPtr& request);
  void Break(size_t place);

  core::Instant away_until_;
  core::Micros slow_most_{};
  core::Instant replies_lost_until_;
};

}  // namespace lockkeeper::simulation
