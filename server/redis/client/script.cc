// SPDX-License-Identifier: Apache-2.0
#include "redis/client/script.h"

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

struct ScriptCaller::Call {
  const ScriptSource& script;
  Command command;
  ReplyDone done;
  core::Instant since;
  enum class Try { kFirst, kSecond } attempt = Try::kFirst;
};

ScriptCaller::ScriptCaller(loop::EventLoop& loop, Lane& lane, NodeObserver& observer)
    : loop_(loop), lane_(lane), observer_(observer) {}

void ScriptCaller::Run(const ScriptSource& script, Command command, ReplyDone done) {
  Send(std::make_unique<Call>(Call{script, std::move(command), std::move(done), loop_.Now()}));
}

void ScriptCaller::Send(std::unique_ptr<Call> call) {
  const std::string_view wire = call->command.wire();
  lane_.Send(wire, [this, call = std::move(call)](absl::StatusOr<Reply> reply) mutable {
    OnReply(std::move(call), std::move(reply));
  });
}

void ScriptCaller::OnReply(std::unique_ptr<Call> call, absl::StatusOr<Reply> reply) {
  if (!IsNoScript(reply)) return Finish(*call, std::move(reply));
  Load& load = loads_[call->script.sha1];
  if (call->attempt == Call::Try::kSecond) {
    if (!load.error.empty()) reply->text = load.error;
    return Finish(*call, std::move(reply));
  }
  // A load that is under way reaches the server before what is sent now.
  if (!load.in_flight) LoadAgain(call->script);
  call->attempt = Call::Try::kSecond;
  Send(std::move(call));
}

void ScriptCaller::LoadAgain(const ScriptSource& script) {
  observer_.OnScriptLoadedAgain(script.name);
  loads_[script.sha1] = {.in_flight = true};
  const Command command = LoadCommand(script);
  lane_.Send(command.wire(), [this, &script](absl::StatusOr<Reply> reply) {
    Load& load = loads_[script.sha1];
    load.in_flight = false;
    if (reply.ok() && reply->type == Reply::Type::kError) load.error = reply->text;
  });
}

void ScriptCaller::Finish(Call& call, absl::StatusOr<Reply> reply) {
  const auto elapsed = std::chrono::duration_cast<core::Micros>(loop_.Now() - call.since);
  observer_.OnScriptCallEnded(call.script.name, EndOf(reply), elapsed);
  std::move(call.done)(std::move(reply));
}

}  // namespace lockkeeper::redis
