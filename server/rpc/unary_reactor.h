// SPDX-License-Identifier: Apache-2.0
//
// The base of every unary call that the loop answers: reads the message and passes the gate on
// gRPC's thread, posts to the loop, answers from there.
#pragma once

#include <concepts>
#include <cstddef>
#include <utility>
#include <variant>

#include "absl/status/statusor.h"
#include "core/lock_store.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/server_callback.h"
#include "rpc/answer.h"
#include "rpc/call_context.h"
#include "rpc/operation.h"
#include "rpc/status_convert.h"

namespace lockkeeper::rpc {

// `Message` is read into an operation of the kind `kVerb`, whose `Answer` goes into the `Response`.
//
// Ownership: deletes itself when gRPC is done with it. Lifetime: borrows all arguments of the
// constructor; gRPC keeps those of the call until OnDone.
template <Verb kVerb, typename Message, typename Response, typename Answer>
class UnaryReactor : public grpc::ServerUnaryReactor {
 public:
  using Request =
      std::variant_alternative_t<static_cast<size_t>(kVerb), decltype(Operation::request)>;

  UnaryReactor(const Edge& edge, const grpc::CallbackServerContext& call, const Message& message,
               Response& response)
      : edge_(edge), context_(edge, call), message_(message), response_(response) {}

  // Starts the call. It may be answered before this returns, but is not deleted before gRPC has the
  // reactor. False if it was rejected.
  bool Start() {
    Read(message_, operation_);
    const absl::Status status = edge_.gate.Admit(context_.caller(), operation_);
    if (!status.ok()) {
      Answered(SubjectOf(operation_), telemetry::Outcome::kError, status);
      return false;
    }
    request().deadline = context_.deadline();
    if constexpr (requires { request().trace; }) request().trace = context_.trace();
    admitted_ = true;
    edge_.deps.loop.Post([this] {
      edge_.fair_share.Run(context_.caller().principal(), [this] {
        Run([this](const absl::StatusOr<Answer>& answer) { OnAnswer(answer); });
      });
    });
    return true;
  }

  void OnDone() override { delete this; }

  // Only a hint: without it gRPC passes OnDone to another thread, which costs as much as the rest.
  // OnDone neither blocks nor takes long.
  bool InternalInlineable() override { return true; }

 protected:
  // On the loop: passes request() to the domain, which may move its texts away; numbers and ids
  // stay. `done` may run on another thread.
  virtual void Run(core::Done<Answer> done) = 0;

  // On the thread of `done`, before the answer goes out. May add to the response.
  virtual void OnAnswered(const absl::StatusOr<Answer>& /*answer*/) {}

  const ServiceDeps& deps() const { return edge_.deps; }
  FairShare& fair_share() const { return edge_.fair_share; }
  Auditor& auditor() const { return edge_.auditor; }
  CallContext& context() { return context_; }
  const Message& message() const { return message_; }
  // Requires: admitted().
  Request& request() { return *std::get_if<Request>(&operation_.request); }
  Response& response() { return response_; }
  bool admitted() const { return admitted_; }

  // Call it last: Finish may run OnDone, which deletes this object, before it returns.
  void Answered(const Subject& subject, telemetry::Outcome outcome, const absl::Status& status) {
    context_.RecordAnswer(kVerb, subject, outcome, status);
    Finish(ToGrpcStatus(status));
  }

 private:
  Subject SubjectOfAnswer() {
    Subject subject = SubjectOf(operation_);
    // The domain may have moved the request's own texts away.
    if constexpr (requires { message_.name(); }) subject.lock_name = message_.name();
    if constexpr (requires { message_.owner(); }) subject.owner = message_.owner();
    return subject;
  }

  void OnAnswer(const absl::StatusOr<Answer>& answer) {
    OnAnswered(answer);
    operation_.holds = {};  // Before the answer: who has it may use what was held.
    Subject subject = SubjectOfAnswer();
    if (!answer.ok()) return Answered(subject, OutcomeOf(answer.status()), answer.status());
    ToProto(*answer, response_);
    if constexpr (requires { LeaseIn(*answer); }) subject.Add(LeaseIn(*answer));
    if constexpr (std::is_same_v<Answer, core::ReleaseAnswer>) subject.Add(*answer);
    const bool cancelled = context_.IsCancelled();
    Answered(subject, cancelled ? telemetry::Outcome::kCancelled : OutcomeOf(*answer),
             absl::OkStatus());
  }

  const Edge& edge_;
  CallContext context_;
  const Message& message_;
  Response& response_;
  Operation operation_;
  bool admitted_ = false;
};

// Answers a call at once on gRPC's thread: it does not need the loop, which may be busy. `fill`
// fills the response.
template <typename Message, typename Fill>
grpc::ServerUnaryReactor* AnswerAtOnce(const Edge& edge, grpc::CallbackServerContext& context,
                                       const Message& message, Fill fill) {
  CallContext call(edge, context);
  Operation operation;
  Read(message, operation);
  const absl::Status status = edge.gate.Admit(call.caller(), operation);
  if (status.ok()) fill(call.caller(), operation);
  call.RecordAnswer(operation.verb(), {},
                    status.ok() ? telemetry::Outcome::kDone : telemetry::Outcome::kError, status);
  grpc::ServerUnaryReactor* reactor = context.DefaultReactor();
  reactor->Finish(ToGrpcStatus(status));
  return reactor;
}

// Makes the reactor of a call and starts it.
template <typename Reactor, typename Message, typename Response>
grpc::ServerUnaryReactor* Started(const Edge& edge, const grpc::CallbackServerContext& call,
                                  const Message& message, Response& response) {
  auto* reactor = new Reactor(edge, call, message, response);
  reactor->Start();
  return reactor;
}

}  // namespace lockkeeper::rpc
