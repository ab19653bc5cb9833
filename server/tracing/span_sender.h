// SPDX-License-Identifier: Apache-2.0
//
// Where the exporter sends its spans.
#pragma once

#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "core/types.h"
#include "tracing/span.h"

namespace lockkeeper::tracing {

// What became of a batch.
struct Sent {
  enum class Kind {
    kTaken,
    kTryAgain,  // Nobody has it: the collector is away or busy.
    kRejected,  // It never will be.
  };

  Kind kind = Kind::kTaken;
  std::string problem;   // Why it was not taken, or not all of it. For people.
  int64_t rejected = 0;  // Spans of a batch that was taken but for these.
};

// Thread-safety: one thread sends; any may cancel.
class SpanSender {
 public:
  virtual ~SpanSender() = default;

  // Blocks for at most `limit`.
  virtual Sent Send(absl::Span<const Span> spans, core::Millis limit) = 0;

  // Ends a Send() that runs, and each that comes.
  virtual void Cancel() = 0;
};

}  // namespace lockkeeper::tracing
