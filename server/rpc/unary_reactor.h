// SPDX-License-Identifier: Apache-2.0
//
// The way of every unary call that is answered by the loop: read and check the message on gRPC's
// thread, post to the loop, answer from there. What differs between rpcs is in their `Call`.
//
// A `Call` belongs to one call and has
//   Request, Response, Answer                         types
//   absl::Status Read(const Request&, const ServiceDeps&, const CallContext&)   on gRPC's thread
//   void Run(const ServiceDeps&, core::Done<Answer>)  on the loop's thread
//   telemetry::Outcome Write(Answer&, Response&)      on the thread of the answer, the loop's
//   CallSubject Subject(const Request&) const         at the end
//   void Audit(CallContext&, const absl::StatusOr<Answer>&)   optional, before the answer goes out
#pragma once

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "core/lock_store.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/server_callback.h"
#include "rpc/call_context.h"
#include "rpc/call_outcome.h"
#include "rpc/service_deps.h"
#include "rpc/status_convert.h"

namespace lockkeeper::rpc {

// Ownership: deletes itself when gRPC is done with it. Lifetime: borrows all arguments of the
// constructor; gRPC keeps those of the call until OnDone.
template <typename Call>
class UnaryReactor : public grpc::ServerUnaryReactor {
 public:
  using Request = typename Call::Request;
  using Response = typename Call::Response;
  using Answer = typename Call::Answer;

  UnaryReactor(const RpcKind& kind, const ServiceDeps& deps,
               const grpc::CallbackServerContext& context, const Request& request,
               Response& response)
      : deps_(deps), context_(kind, context), request_(request), response_(response) {}

  // Sets the call going. It may be answered before this returns, but is not deleted before gRPC has
  // the reactor. False if it was refused.
  bool Start() {
    absl::Status status = context_.Admission();
    if (status.ok()) status = call_.Read(request_, deps_, context_);
    if (!status.ok()) {
      Answered(telemetry::Outcome::kError, status);
      return false;
    }
    posted_ = true;
    deps_.loop.Post([this] { Run(); });
    return true;
  }

  void OnDone() override { delete this; }

  // A hint only: without it gRPC hands OnDone to another thread, which costs as much as the rest.
  // OnDone neither blocks nor takes long.
  bool InternalInlineable() override { return true; }

 protected:
  Call& call() { return call_; }
  const CallContext& context() const { return context_; }
  const Request& request() const { return request_; }
  const ServiceDeps& deps() const { return deps_; }
  // False of a call that was refused before it got to the loop.
  bool posted() const { return posted_; }

  // The last thing done here: Finish may run OnDone before it returns.
  void Answered(telemetry::Outcome outcome, const absl::Status& status) {
    context_.RecordAnswer(outcome, status, call_.Subject(request_));
    Finish(ToGrpcStatus(status));
  }

 private:
  void Run() {
    call_.Run(deps_, [this](absl::StatusOr<Answer> answer) { OnAnswer(std::move(answer)); });
  }

  void OnAnswer(absl::StatusOr<Answer> answer) {
    if constexpr (requires { call_.Audit(context_, answer); }) call_.Audit(context_, answer);
    telemetry::Outcome outcome =
        answer.ok() ? call_.Write(*answer, response_) : OutcomeOf(answer.status());
    if (answer.ok() && context_.IsCancelled()) outcome = telemetry::Outcome::kCancelled;
    Answered(outcome, answer.status());
  }

  const ServiceDeps& deps_;
  CallContext context_;
  const Request& request_;
  Response& response_;
  Call call_;
  bool posted_ = false;
};

// Makes the reactor of a call and sets it going.
template <typename Call>
grpc::ServerUnaryReactor* StartCall(const RpcKind& kind, const ServiceDeps& deps,
                                    const grpc::CallbackServerContext& context,
                                    const typename Call::Request& request,
                                    typename Call::Response& response) {
  auto* reactor = new UnaryReactor<Call>(kind, deps, context, request, response);
  reactor->Start();
  return reactor;
}

}  // namespace lockkeeper::rpc
