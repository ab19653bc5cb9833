// SPDX-License-Identifier: Apache-2.0
#include "redis/client/lane.h"

#include <utility>

#include "core/errors.h"

namespace lockkeeper::redis {

Lane::Lane(loop::EventLoop& loop, ConnectionOptions options, loop::Backoff backoff,
           Listener& listener)
    : loop_(loop),
      options_(std::move(options)),
      backoff_(std::move(backoff)),
      listener_(listener),
      problem_{StoreProblem::Kind::kUnreachable, "connecting to " + options_.url.Address()},
      self_(std::make_shared<Lane*>(this)) {
  Connect();
}

Lane::~Lane() = default;

bool Lane::ready() const {
  return connection_ != nullptr && connection_->state() == Connection::State::kReady;
}

void Lane::Send(std::string_view wire, ReplyDone done) {
  if (!ready()) return Refuse("the store is away: " + problem_.text, std::move(done));
  if (!connection_->has_room()) {
    return Refuse("too many commands are waiting for the store; none was sent", std::move(done));
  }
  connection_->Send(wire, std::move(done));
}

void Lane::Refuse(const std::string& why, ReplyDone done) {
  refusals_.push_back({std::move(done), core::Error(core::ErrorReason::kStoreUnavailable, why)});
  loop_.Post([self = std::weak_ptr(self_)] {
    const auto lane = self.lock();
    if (lane && !(*lane)->refusals_.empty()) (*lane)->TellOldestRefusal();
  });
}

void Lane::TellOldestRefusal() {
  Refusal oldest = std::move(refusals_.front());
  refusals_.pop_front();
  std::move(oldest.done)(std::move(oldest.why));
}

void Lane::Close() {
  closed_ = true;
  reconnect_timer_.reset();
  problem_ = {StoreProblem::Kind::kUnreachable, options_.url.Address() + ": connection closed"};
  if (connection_) connection_->Break(problem_);
  while (!refusals_.empty()) TellOldestRefusal();
}

void Lane::Connect() {
  was_ready_ = false;
  Connection::Listener& listener = *this;
  connection_ = std::make_unique<Connection>(loop_, options_, listener);
}

void Lane::OnReady(const ServerFacts& facts) {
  was_ready_ = true;
  backoff_.Reset();
  listener_.OnLaneReady(*this, facts);
}

void Lane::OnBroken(const StoreProblem& problem) {
  problem_ = problem;
  if (!closed_) reconnect_timer_ = loop_.After(backoff_.Next(), [this] { Connect(); });
  listener_.OnLaneDown(*this,
                       was_ready_ ? Listener::Before::kReady : Listener::Before::kConnecting);
}

}  // namespace lockkeeper::redis
