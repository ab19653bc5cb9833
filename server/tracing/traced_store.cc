// SPDX-License-Identifier: Apache-2.0
#include "tracing/traced_store.h"

#include <cstddef>
#include <utility>

#include "core/errors.h"

namespace lockkeeper::tracing {
namespace {

constexpr size_t kAttributesMax = 3;

}  // namespace

Span TracedStore::Start(const core::TraceRef& trace, std::string_view operation) {
  Span span = tracer_.Start(OwnTrace(trace), "store", SpanKind::kClient);
  span.attributes.reserve(kAttributesMax);
  span.attributes.push_back({"db.system", system_});
  span.attributes.push_back({"db.operation.name", operation});
  return span;
}

void TracedStore::End(const core::TraceRef& trace, Span span, const absl::Status& status) {
  if (!status.ok()) {
    if (const auto reason = core::ReasonOf(status)) {
      span.attributes.push_back({"lockkeeper.reason", core::RowOf(*reason).name});
    }
    // A lease that has ended is an answer of a store that works.
    span.failed = status.code() != absl::StatusCode::kFailedPrecondition &&
                  status.code() != absl::StatusCode::kResourceExhausted;
    if (span.failed) span.problem = std::string(status.message());
  }
  tracer_.End(OwnTrace(trace), std::move(span));
}

}  // namespace lockkeeper::tracing
