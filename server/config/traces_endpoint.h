// SPDX-License-Identifier: Apache-2.0
//
// Where spans go: traces.endpoint.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace lockkeeper::config {

struct TracesEndpoint {
  std::string target;  // "host:port" or "[v6]:port".
  bool tls = false;
};

// Parses http://host[:port] or https://host[:port]. The port is that of OTLP over gRPC, 4317,
// unless given. Errors: INVALID_ARGUMENT, with a text for people.
absl::StatusOr<TracesEndpoint> ParseTracesEndpoint(std::string_view text);

}  // namespace lockkeeper::config
