// SPDX-License-Identifier: Apache-2.0
#include "tracing/tracer.h"

#include <chrono>
#include <optional>
#include <utility>

namespace lockkeeper::tracing {
namespace {

using std::chrono::duration_cast;
using std::chrono::nanoseconds;

}  // namespace

Tracer::Tracer(TracerOptions options, SpanSink& sink)
    : sampler_(options.sample_ratio),
      clock_(std::move(options.clock)),
      sink_(sink),
      high_(options.seeds[0]),
      low_(options.seeds[1]) {}

// SplitMix64: each state gives another number, whoever asks, without a lock.
uint64_t Tracer::NewId(std::atomic<uint64_t>& state) {
  constexpr uint64_t kStep = 0x9e3779b97f4a7c15;
  for (;;) {
    uint64_t id = state.fetch_add(kStep, std::memory_order_relaxed) + kStep;
    id = (id ^ id >> 30) * 0xbf58476d1ce4e5b9;
    id = (id ^ id >> 27) * 0x94d049bb133111eb;
    id ^= id >> 31;
    if (id != 0) return id;
  }
}

CallTraceRef Tracer::Begin(std::string_view traceparent, std::string_view tracestate) {
  std::optional<TraceContext> caller;
  if (!traceparent.empty()) caller = ParseTraceparent(traceparent);
  TraceId id;
  if (caller) {
    if (!caller->sampled) return nullptr;
    id = caller->trace_id;
  } else {
    id.low = NewId(low_);
    if (!sampler_.SamplesLow(id.low)) return nullptr;
    id.high = NewId(high_);
  }
  auto trace = std::make_shared<CallTrace>();
  trace->trace_id = id;
  trace->span_id = NewId(low_);
  if (caller) {
    trace->parent_id = caller->span_id;
    if (IsTracestate(tracestate)) trace->trace_state = tracestate;
  }
  const telemetry::LogTime now = clock_();
  trace->began = now.monotonic;
  trace->began_unix_nanos = duration_cast<nanoseconds>(now.wall.time_since_epoch()).count();
  return trace;
}

int64_t Tracer::UnixNanos(const CallTrace& trace) const {
  const auto since = duration_cast<nanoseconds>(clock_().monotonic - trace.began);
  return trace.began_unix_nanos + since.count();
}

Span Tracer::CallSpan(const CallTrace& trace, std::string name) const {
  return {.trace_id = trace.trace_id,
          .span_id = trace.span_id,
          .parent_id = trace.parent_id,
          .parent_is_remote = trace.parent_id != 0,
          .trace_state = trace.trace_state,
          .name = std::move(name),
          .kind = SpanKind::kServer,
          .begin = trace.began_unix_nanos,
          .end = UnixNanos(trace)};
}

Span Tracer::Start(const CallTrace& trace, std::string_view name, SpanKind kind) {
  return {.trace_id = trace.trace_id,
          .span_id = NewId(low_),
          .parent_id = trace.span_id,
          .trace_state = trace.trace_state,
          .name = std::string(name),
          .kind = kind,
          .begin = UnixNanos(trace)};
}

void Tracer::End(const CallTrace& trace, Span span) const {
  span.end = UnixNanos(trace);
  sink_.Put(std::move(span));
}

}  // namespace lockkeeper::tracing
