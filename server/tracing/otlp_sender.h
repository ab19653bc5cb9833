// SPDX-License-Identifier: Apache-2.0
//
// Sends spans to a collector by OTLP over gRPC. Shows nothing of gRPC.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "tracing/span_sender.h"

namespace lockkeeper::tracing {

struct OtlpSenderOptions {
  std::string target;  // "host:port"
  bool tls = false;
  std::string ca_file;  // Of PEM certificates. Empty: the system's. Of TLS.
  // Of the spans' resource.
  std::string version;
  std::string daemon_id;
};

// Connects when the first spans are sent. After each batch that was not taken it connects anew, and
// reads the file again. Errors: INVALID_FIELD of traces.ca_file: it cannot be read, or has no
// certificate.
absl::StatusOr<std::unique_ptr<SpanSender>> NewOtlpSender(OtlpSenderOptions options);

}  // namespace lockkeeper::tracing
