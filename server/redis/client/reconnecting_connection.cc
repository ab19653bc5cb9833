// SPDX-License-Identifier: Apache-2.0
#include "redis/client/reconnecting_connection.h"

#include <utility>

#include "core/errors.h"
#include "redis/client/handshake.h"
#include "redis/node/error_reply.h"
#include "redis/scripts.h"

namespace lockkeeper::redis {
namespace {

bool IsNoScript(const absl::StatusOr<Reply>& reply) {
  return reply.ok() && reply->type == Reply::Type::kError && ErrorWord(reply->text) == "NOSCRIPT";
}

ScriptCallEnd EndOf(const absl::StatusOr<Reply>& reply) {
  if (!reply.ok()) {
    return core::MayHaveHappened(reply.status()) ? ScriptCallEnd::kUnanswered
                                                 : ScriptCallEnd::kNotSent;
  }
  return reply->type == Reply::Type::kError ? ScriptCallEnd::kErrorReply : ScriptCallEnd::kAnswered;
}

}  // namespace

struct ReconnectingConnection::ScriptCall {
  const ScriptSource& script;
  Command command;
  ReplyDone done;
  core::Instant since;
  enum class Try { kFirst, kSecond } attempt = Try::kFirst;
};

ReconnectingConnection::ReconnectingConnection(loop::EventLoop& loop, ConnectionOptions options,
                                               loop::Backoff backoff, Listener& listener)
    : loop_(loop),
      options_(std::move(options)),
      backoff_(std::move(backoff)),
      listener_(listener),
      problem_(Connecting()),
      self_(std::make_shared<ReconnectingConnection*>(this)) {
  if (options_.url.has_address()) Connect();
}

ReconnectingConnection::~ReconnectingConnection() = default;

StoreProblem ReconnectingConnection::Connecting() const {
  const bool known = options_.url.has_address();
  return {StoreProblem::Kind::kConnecting,
          known ? "connecting to " + options_.url.Address() : "looking for the primary"};
}

bool ReconnectingConnection::ready() const {
  return connection_ != nullptr && connection_->state() == Connection::State::kReady;
}

void ReconnectingConnection::Send(std::string_view wire, ReplyDone done) {
  if (!ready()) return Refuse("the store is away: " + problem_.text, std::move(done));
  if (!connection_->has_room()) {
    return Refuse("too many commands are waiting for the store; none was sent", std::move(done));
  }
  connection_->Send(wire, std::move(done));
}

void ReconnectingConnection::Refuse(const std::string& why, ReplyDone done) {
  refusals_.push_back({std::move(done), core::Error(core::ErrorReason::kStoreUnavailable, why)});
  loop_.Post([self = std::weak_ptr(self_)] {
    const auto connection = self.lock();
    if (connection && !(*connection)->refusals_.empty()) (*connection)->TellOldestRefusal();
  });
}

void ReconnectingConnection::TellOldestRefusal() {
  Refusal oldest = std::move(refusals_.front());
  refusals_.pop_front();
  std::move(oldest.done)(std::move(oldest.why));
}

void ReconnectingConnection::Run(const ScriptSource& script, Command command, ReplyDone done) {
  SendCall(std::make_unique<ScriptCall>(
      ScriptCall{script, std::move(command), std::move(done), loop_.Now()}));
}

void ReconnectingConnection::SendCall(std::unique_ptr<ScriptCall> call) {
  const std::string_view wire = call->command.wire();
  Send(wire, [this, call = std::move(call)](absl::StatusOr<Reply> reply) mutable {
    OnScriptReply(std::move(call), std::move(reply));
  });
}

void ReconnectingConnection::OnScriptReply(std::unique_ptr<ScriptCall> call,
                                           absl::StatusOr<Reply> reply) {
  if (!IsNoScript(reply)) return Finish(*call, std::move(reply));
  Load& load = loads_[call->script.sha1];
  if (call->attempt == ScriptCall::Try::kSecond) {
    if (!load.error.empty()) reply->text = load.error;
    return Finish(*call, std::move(reply));
  }
  // A load that is under way reaches the server before what is sent now.
  if (!load.in_flight) LoadAgain(call->script);
  call->attempt = ScriptCall::Try::kSecond;
  SendCall(std::move(call));
}

void ReconnectingConnection::LoadAgain(const ScriptSource& script) {
  listener_.OnScriptLoadedAgain(script.name);
  loads_[script.sha1] = {.in_flight = true};
  const Command command = LoadCommand(script);
  Send(command.wire(), [this, &script](absl::StatusOr<Reply> reply) {
    Load& load = loads_[script.sha1];
    load.in_flight = false;
    if (reply.ok() && reply->type == Reply::Type::kError) load.error = reply->text;
  });
}

void ReconnectingConnection::Finish(ScriptCall& call, absl::StatusOr<Reply> reply) {
  const auto elapsed = std::chrono::duration_cast<core::Micros>(loop_.Now() - call.since);
  listener_.OnScriptCallEnded(call.script.name, EndOf(reply), elapsed);
  std::move(call.done)(std::move(reply));
}

void ReconnectingConnection::Close() {
  closed_ = true;
  reconnect_timer_.reset();
  problem_ = {StoreProblem::Kind::kUnreachable, options_.url.Address() + ": connection closed"};
  if (connection_) connection_->Break(problem_);
  while (!refusals_.empty()) TellOldestRefusal();
}

void ReconnectingConnection::MoveTo(RedisUrl url, const StoreProblem& why) {
  options_.url = std::move(url);
  if (connection_) connection_->Break(why);
  backoff_.Reset();
  problem_ = options_.url.has_address() ? Connecting() : why;
  reconnect_timer_.reset();
  if (closed_ || !options_.url.has_address()) return;
  reconnect_timer_ = loop_.After(core::Micros(0), [this] { Connect(); });
}

void ReconnectingConnection::Connect() {
  was_ready_ = false;
  Connection::Listener& listener = *this;
  connection_ = std::make_unique<Connection>(loop_, options_, listener);
}

void ReconnectingConnection::OnReady(const ServerFacts& facts) {
  was_ready_ = true;
  backoff_.Reset();
  listener_.OnReady(*this, facts);
}

void ReconnectingConnection::OnBroken(const StoreProblem& problem) {
  problem_ = problem;
  if (!closed_) reconnect_timer_ = loop_.After(backoff_.Next(), [this] { Connect(); });
  listener_.OnDown(*this, was_ready_ ? Listener::Before::kReady : Listener::Before::kConnecting);
}

}  // namespace lockkeeper::redis
