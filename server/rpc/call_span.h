// SPDX-License-Identifier: Apache-2.0
//
// The span of an rpc, or of an operation of a session: where its context comes from, and what it
// says. docs/operating/traces.md lists its attributes.
#pragma once

#include "absl/status/status.h"
#include "core/trace.h"
#include "grpcpp/server_context.h"
#include "lockkeeper/v1/lock_service.pb.h"
#include "rpc/caller.h"
#include "rpc/operation.h"
#include "telemetry/outcome.h"
#include "tracing/tracer.h"

namespace lockkeeper::rpc {

// Begins the trace of a call, if it is traced. Without a tracer the metadata is not looked at.
core::TraceRef BeginTrace(tracing::Tracer* tracer, const grpc::CallbackServerContext& call);

// The same of an operation of a session, whose request keeps the trace. The context of the session
// itself does not count: its operations belong to many callers. Requires: the operation was read of
// the message.
void BeginTrace(tracing::Tracer* tracer, const v1::SessionOperation& message, Operation& operation);

// What the request of an operation keeps. Null: it is not traced.
core::TraceRef TraceOf(const Operation& operation);

// What the span of an answered operation tells. Lifetime: borrows all of it.
struct AnsweredCall {
  Verb verb;
  Caller& caller;
  const Subject& subject;
  telemetry::Outcome outcome;
  const absl::Status& status;
};

// Ends the span. Requires: `trace` is not null, and was begun by BeginTrace().
void EndSpan(const tracing::Tracer& tracer, const core::TraceRef& trace, const AnsweredCall& call);

}  // namespace lockkeeper::rpc
