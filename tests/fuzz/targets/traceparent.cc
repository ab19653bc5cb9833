// SPDX-License-Identifier: Apache-2.0
//
// A traceparent, a byte 0, and a tracestate.
#include <string>
#include <utility>

#include "absl/strings/str_format.h"
#include "fuzz/target.h"
#include "tracing/tracer.h"

namespace lockkeeper {
namespace {

using fuzz::Require;

class Nowhere final : public tracing::SpanSink {
 public:
  void Put(tracing::Span) override {}
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view rest = fuzz::TextOf(data, size);
  const std::string_view traceparent = fuzz::TakeField(rest);
  Nowhere nowhere;
  tracing::Tracer tracer({.sample_ratio = 0}, nowhere);
  const tracing::CallTraceRef trace = tracer.Begin(traceparent, rest);
  const auto context = tracing::ParseTraceparent(traceparent);
  Require((trace != nullptr) == (context && context->sampled), "only a sampled caller is followed");
  if (!context) return 0;
  // Written again it is what was read, but for version, other flags and later fields.
  const std::string ids = absl::StrFormat("-%016x%016x-%016x-", context->trace_id.high,
                                          context->trace_id.low, context->span_id);
  Require(traceparent.substr(2, ids.size()) == ids, "the ids are those of the text");
  Require(context->span_id != 0, "a caller has a span");
  if (trace == nullptr) return 0;
  Require(trace->trace_id == context->trace_id && trace->parent_id == context->span_id,
          "the call is a child of its caller");
  Require(trace->trace_state.empty() || trace->trace_state == rest, "the state is passed on");
  fuzz::RequireOneLine(trace->trace_state);
  return 0;
}

}  // namespace lockkeeper
