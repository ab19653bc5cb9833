// SPDX-License-Identifier: Apache-2.0
//
// The trace context of a caller, as W3C's `traceparent` and `tracestate` carry it.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace lockkeeper::tracing {

// Metadata keys.
inline constexpr char kTraceparentKey[] = "traceparent";
inline constexpr char kTracestateKey[] = "tracestate";

// 128 bits, in the order of their digits. Not both halves are 0.
struct TraceId {
  uint64_t high = 0;
  uint64_t low = 0;
  auto operator<=>(const TraceId&) const = default;
};

using SpanId = uint64_t;  // 0: none.

struct TraceContext {
  TraceId trace_id;
  SpanId span_id = 0;
  bool sampled = false;
};

// Parses a `traceparent`. Nothing if it is malformed: W3C asks that it is ignored then. Of a
// version that is newer than 00 the first four fields are read.
std::optional<TraceContext> ParseTraceparent(std::string_view text);

// Whether `text` may be passed on: at most kTracestateBytesMax printable bytes. Nobody here reads
// what it says.
inline constexpr size_t kTracestateBytesMax = 512;
bool IsTracestate(std::string_view text);

}  // namespace lockkeeper::tracing
