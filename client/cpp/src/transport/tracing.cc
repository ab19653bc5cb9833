// SPDX-License-Identifier: Apache-2.0
#include "transport/tracing.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "absl/strings/ascii.h"

namespace lockkeeper::client {
namespace {

// Longer ones mean nothing to the service, and would take the place of operations in a message.
constexpr size_t kTraceparentBytesMax = 64;
constexpr size_t kTracestateBytesMax = 512;

// Other bytes would end a session, or fail a unary call.
bool IsPrintable(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](unsigned char each) { return absl::ascii_isprint(each); });
}

bool IsTaken(std::string_view text, size_t bytes_max) {
  return text.size() <= bytes_max && IsPrintable(text);
}

}  // namespace

TraceContext CallersTrace(const ClientOptions& options) {
  if (!options.trace_context) return {};
  TraceContext trace = options.trace_context();
  if (trace.traceparent.empty() || !IsTaken(trace.traceparent, kTraceparentBytesMax)) return {};
  if (!IsTaken(trace.tracestate, kTracestateBytesMax)) trace.tracestate.clear();
  return trace;
}

void SetTrace(const TraceContext& trace, v1::SessionOperation& operation) {
  operation.set_traceparent(trace.traceparent);
  operation.set_tracestate(trace.tracestate);
}

void AddTrace(const v1::SessionOperation& operation, grpc::ClientContext& context) {
  if (!operation.traceparent().empty()) {
    context.AddMetadata("traceparent", operation.traceparent());
  }
  if (!operation.tracestate().empty()) context.AddMetadata("tracestate", operation.tracestate());
}

}  // namespace lockkeeper::client
