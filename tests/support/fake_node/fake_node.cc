// SPDX-License-Identifier: Apache-2.0
#include "support/fake_node/fake_node.h"

#include <algorithm>
#include <utility>

#include "core/errors.h"
#include "redis/scripts.h"
#include "text/stable_hash.h"

namespace lockkeeper::support {

using core::ErrorReason;
using core::Instant;
using redis::Reply;

struct FakeNode::Request {
  redis::Command command;
  redis::ReplyDone done;
  const redis::ScriptSource* script = nullptr;  // Null for other commands, and once it was loaded.
  Instant reply_at;
  Fate fate = Fate::kAnswered;
  Reply reply;
};

// What is under way on one connection, until it is given up; another one takes its place then.
struct FakeNode::Connection {
  size_t place = 0;  // In connections_.
  bool given_up = false;
  bool timer_runs = false;
  Fate cut = Fate::kAnswered;  // What happens to all that follows a loss.
  Instant last_arrival;
  Instant last_reply;
  std::deque<std::shared_ptr<Request>> to_execute;
  std::deque<std::shared_ptr<Request>> to_answer;  // Sent and not answered, executed or not.
};

FakeNode::FakeNode(RedisModel& server, const core::Clock& clock, core::Executor& executor,
                   Options options)
    : server_(server), clock_(clock), executor_(executor), options_(options) {
  for (size_t place = 0; place < options_.connections; ++place) {
    connections_.push_back(std::make_shared<Connection>(Connection{.place = place}));
  }
}

FakeNode::~FakeNode() {
  *alive_ = false;
  StopListening();
}

void FakeNode::Subscribe(const std::string& channel, redis::MessageListener listener) {
  StopListening();
  channel_ = channel;
  on_message_ = std::move(listener);
  ListenAgain();
}

void FakeNode::StopListening() {
  if (subscription_) server_.Unsubscribe(*subscription_);
  subscription_.reset();
}

void FakeNode::ListenAgain() {
  subscription_ = server_.Subscribe(channel_, [this](std::string_view message) {
    executor_.Post([this, alive = alive_, message = std::string(message)] {
      if (*alive) on_message_(message);
    });
  });
}

redis::Route FakeNode::RouteOf(std::string_view record_key) const {
  return {.connection = text::StableHash(record_key) % connections_.size()};
}

const redis::NodeLife& FakeNode::life(redis::Route) const {
  static const redis::NodeLife kNobody;
  if (away_) return kNobody;
  seen_life_ = server_.life();
  seen_life_.durable = seen_life_.durable && sees_durability_;
  seen_life_.isolation = isolation_;
  return seen_life_;
}

core::Assurance FakeNode::assurance() const {
  return away_ ? core::Assurance::kNone : options_.assurance;
}

bool FakeNode::MayConfirm(core::Assurance wanted) const {
  return away_ || wanted <= std::max(options_.assurance, confirmed_);
}

void FakeNode::Confirm(redis::Route, core::Assurance wanted, core::Instant,
                       redis::ConfirmDone done) {
  executor_.Post([this, alive = alive_, wanted, done = std::move(done)]() mutable {
    if (*alive) std::move(done)(std::min(wanted, std::max(assurance(), confirmed_)));
  });
}

void FakeNode::Run(redis::Route route, const redis::ScriptSource& script, redis::Command command,
                   redis::ReplyDone done) {
  Submit(route, std::make_shared<Request>(Request{std::move(command), std::move(done), &script}));
}

void FakeNode::Send(redis::Route route, redis::Command command, redis::ReplyDone done) {
  Submit(route, std::make_shared<Request>(Request{std::move(command), std::move(done)}));
}

void FakeNode::Submit(redis::Route route, std::shared_ptr<Request> request) {
  if (away_) {
    executor_.Post([request] {
      std::move(request->done)(
          core::Error(ErrorReason::kStoreUnavailable, "the node cannot be reached"));
    });
    return;
  }
  Deliver(connections_[route.connection], std::move(request));
}

Delivery FakeNode::NextDelivery(Words words) {
  if (planned_.empty()) return network_ ? network_(words) : Delivery{};
  const Delivery delivery = planned_.front();
  planned_.pop_front();
  return delivery;
}

void FakeNode::Deliver(const ConnectionPtr& connection, std::shared_ptr<Request> request) {
  ++requests_;
  const auto words = request->command.Words();
  const Delivery delivery = NextDelivery(words);
  // A connection that loses requests loses replies as well.
  connection->cut = connection->cut == Fate::kRequestLost ? Fate::kRequestLost
                    : delivery.fate == Fate::kAnswered    ? connection->cut
                                                          : delivery.fate;
  request->fate = connection->cut;
  connection->last_arrival =
      std::max(connection->last_arrival, clock_.Now() + delivery.request_delay);
  connection->last_reply =
      std::max(connection->last_reply, connection->last_arrival + delivery.reply_delay);
  request->reply_at = connection->last_reply;
  connection->to_answer.push_back(request);
  connection->to_execute.push_back(std::move(request));
  At(connection->last_arrival, [this, connection] { OnArrival(connection); });

  const Instant patience_ends = clock_.Now() + options_.reply_timeout;
  const bool answered_in_time =
      connection->cut == Fate::kAnswered && connection->last_reply <= patience_ends;
  if (answered_in_time || connection->timer_runs) return;
  connection->timer_runs = true;
  At(patience_ends, [this, connection] { GiveUp(connection); });
}

void FakeNode::OnArrival(const ConnectionPtr& connection) {
  const std::shared_ptr<Request> request = std::move(connection->to_execute.front());
  connection->to_execute.pop_front();
  if (request->fate == Fate::kRequestLost) return;
  request->reply = server_.Execute(request->command.Words());
  if (request->fate == Fate::kReplyLost) return;
  At(request->reply_at, [this, connection] { OnReply(connection); });
}

void FakeNode::OnReply(const ConnectionPtr& connection) {
  if (connection->given_up) return;
  const std::shared_ptr<Request> request = std::move(connection->to_answer.front());
  connection->to_answer.pop_front();
  const bool unknown_script =
      request->reply.type == Reply::Type::kError && request->reply.text.starts_with("NOSCRIPT");
  if (request->script && unknown_script) {
    LoadAndRunAgain(connection, *request);
  } else {
    std::move(request->done)(std::move(request->reply));
  }
}

void FakeNode::LoadAndRunAgain(const ConnectionPtr& connection, Request& request) {
  redis::Command load(3);
  load.Word("SCRIPT").Word("LOAD").Word(request.script->text);
  Deliver(connection, std::make_shared<Request>(
                          Request{std::move(load), [](absl::StatusOr<Reply>) {}, nullptr}));
  Deliver(connection, std::make_shared<Request>(
                          Request{std::move(request.command), std::move(request.done), nullptr}));
}

void FakeNode::GiveUp(const ConnectionPtr& connection) {
  if (connection->given_up) return;
  connection->given_up = true;
  connections_[connection->place] =
      std::make_shared<Connection>(Connection{.place = connection->place});
  for (const std::shared_ptr<Request>& request : std::exchange(connection->to_answer, {})) {
    std::move(request->done)(
        core::Error(ErrorReason::kOutcomeUnknown, "the connection was lost before the reply"));
  }
}

void FakeNode::GoAway(InFlight in_flight) {
  away_ = true;
  for (const ConnectionPtr& connection : std::vector(connections_)) {
    if (in_flight == InFlight::kLost) {
      for (const auto& request : connection->to_execute) request->fate = Fate::kRequestLost;
    }
    executor_.Post([this, alive = alive_, connection] {
      if (*alive) GiveUp(connection);
    });
  }
}

void FakeNode::At(Instant time, core::Task task) {
  if (time <= clock_.Now()) {
    executor_.Post([alive = alive_, task = std::move(task)]() mutable {
      if (*alive) std::move(task)();
    });
    return;
  }
  const uint64_t id = next_timer_++;
  const auto delay = std::chrono::ceil<core::Micros>(time - clock_.Now());
  timers_.emplace(id, executor_.After(delay, [this, id, task = std::move(task)]() mutable {
    const auto timer = timers_.extract(id);  // Lives until the task has run.
    std::move(task)();
  }));
}

}  // namespace lockkeeper::support
