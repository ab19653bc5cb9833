// SPDX-License-Identifier: Apache-2.0
//
// A span: a piece of work with its begin and end. It never has a lease id: who reads traces could
// use it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tracing/trace_context.h"

namespace lockkeeper::tracing {

// Lifetime: borrows `key`, and a value that is a view: they are constants.
struct Attribute {
  std::string_view key;
  std::variant<std::string, std::string_view, int64_t, bool> value;
};

enum class SpanKind {
  kInternal,
  kServer,  // The work for a caller.
  kClient,  // The wait for somebody else's work.
};

struct Span {
  TraceId trace_id;
  SpanId span_id = 0;
  SpanId parent_id = 0;           // 0: none.
  bool parent_is_remote = false;  // It is the caller's.
  std::string trace_state;
  std::string name;
  SpanKind kind = SpanKind::kInternal;
  int64_t begin = 0;  // Nanoseconds since the Unix epoch, as the next.
  int64_t end = 0;
  std::vector<Attribute> attributes;
  bool failed = false;
  std::string problem;  // Why it has failed, for people.
};

// Thread-safety: thread-safe; must not block.
class SpanSink {
 public:
  virtual ~SpanSink() = default;
  virtual void Put(Span span) = 0;
};

}  // namespace lockkeeper::tracing
