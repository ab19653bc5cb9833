// SPDX-License-Identifier: Apache-2.0
//
// Begins the traces of operations, and makes their spans.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "core/trace.h"
#include "core/types.h"
#include "telemetry/log.h"
#include "tracing/sampler.h"
#include "tracing/span.h"
#include "tracing/trace_clock.h"

namespace lockkeeper::tracing {

// An operation that is traced. Its own span is that of the rpc; the others are below that one.
// Nothing changes it. The times of its spans are counted from its begin on a clock that is never
// set.
struct CallTrace final : core::Trace {
  TraceId trace_id;
  SpanId span_id = 0;
  SpanId parent_id = 0;  // The caller's span. 0: none.
  std::string trace_state;
  core::Instant began;
  int64_t began_unix_nanos = 0;
};

using CallTraceRef = std::shared_ptr<const CallTrace>;

struct TracerOptions {
  double sample_ratio = 0;          // Of operations without a context: 0 to 1.
  std::array<uint64_t, 2> seeds{};  // Random: ids of two daemons must differ.
  telemetry::LogClock clock = SystemTraceTime;
};

// Thread-safety: thread-safe. Lifetime: borrows the sink.
class Tracer {
 public:
  Tracer(TracerOptions options, SpanSink& sink);

  // Decides whether an operation is traced: as its caller says, if it gives a context, else by the
  // ratio. Null if not. A context that is malformed counts as none. Both texts may be empty.
  CallTraceRef Begin(std::string_view traceparent, std::string_view tracestate);

  // The span of the operation itself, that ends now.
  Span CallSpan(const CallTrace& trace, std::string name) const;

  // A span below that one, which begins now. Give it to End().
  Span Start(const CallTrace& trace, std::string_view name, SpanKind kind);

  void End(const CallTrace& trace, Span span) const;
  // The same for one that has its end.
  void Put(Span span) const { sink_.Put(std::move(span)); }

 private:
  int64_t UnixNanos(const CallTrace& trace) const;
  // Never 0.
  static uint64_t NewId(std::atomic<uint64_t>& state);

  const Sampler sampler_;
  const telemetry::LogClock clock_;
  SpanSink& sink_;
  std::atomic<uint64_t> high_;
  std::atomic<uint64_t> low_;
};

// The trace that this daemon has begun. Requires: `trace` is not null.
inline const CallTrace& OwnTrace(const core::TraceRef& trace) {
  return static_cast<const CallTrace&>(*trace);
}

}  // namespace lockkeeper::tracing
