// SPDX-License-Identifier: Apache-2.0
//
// Which calls without a trace context are traced: OpenTelemetry's TraceIdRatioBased.
#pragma once

#include <cstdint>

#include "tracing/trace_context.h"

namespace lockkeeper::tracing {

// Decides by the trace id alone, and by the same bits as OpenTelemetry's SDKs: whoever sees the
// same id and has the same ratio decides the same, and a higher ratio traces what a lower one does.
class Sampler {
 public:
  // `ratio`: 0 (none) to 1 (all).
  explicit Sampler(double ratio)
      : bound_(ratio >= 1 ? kAll : static_cast<uint64_t>(ratio * static_cast<double>(kAll))) {}

  bool Samples(const TraceId& id) const { return SamplesLow(id.low); }

  // The same by the lower half, which is all that counts.
  bool SamplesLow(uint64_t low) const { return low >> 1 < bound_; }

 private:
  static constexpr uint64_t kAll = uint64_t{1} << 63;

  const uint64_t bound_;
};

}  // namespace lockkeeper::tracing
