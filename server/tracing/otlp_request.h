// SPDX-License-Identifier: Apache-2.0
//
// Spans as OTLP has them.
#pragma once

#include <string>

#include "absl/types/span.h"
#include "opentelemetry/proto/collector/trace/v1/trace_service.pb.h"
#include "tracing/span.h"

namespace lockkeeper::tracing {

namespace otlp = ::opentelemetry::proto;

// Where spans come from: the attributes that all of them have.
struct Source {
  std::string version;
  std::string daemon_id;  // New at each start.
  std::string host;       // Empty: not known.
};

// Requires: `to` is empty. The texts of the spans are UTF-8.
void Encode(const Source& source, absl::Span<const Span> spans,
            otlp::collector::trace::v1::ExportTraceServiceRequest& to);

}  // namespace lockkeeper::tracing
