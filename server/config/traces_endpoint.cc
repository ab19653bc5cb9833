// SPDX-License-Identifier: Apache-2.0
#include "config/traces_endpoint.h"

#include "config/listen_address.h"
#include "core/errors.h"
#include "text/problem.h"

namespace lockkeeper::config {
namespace {

constexpr std::string_view kPlainScheme = "http://";
constexpr std::string_view kTlsScheme = "https://";
constexpr std::string_view kDefaultPort = ":4317";

absl::Status Malformed(const std::string& problem) {
  return core::Error(core::ErrorReason::kInvalidField, problem);
}

bool HasPort(std::string_view place) {
  const size_t colon = place.rfind(':');
  if (colon == std::string_view::npos) return false;
  const size_t bracket = place.rfind(']');
  return bracket == std::string_view::npos || bracket < colon;
}

}  // namespace

absl::StatusOr<TracesEndpoint> ParseTracesEndpoint(std::string_view text) {
  const bool tls = text.starts_with(kTlsScheme);
  if (!tls && !text.starts_with(kPlainScheme)) {
    return Malformed("must be http://host[:port], or https://host[:port] with TLS, is " +
                     text::Quoted(text));
  }
  std::string_view place = text.substr(tls ? kTlsScheme.size() : kPlainScheme.size());
  if (place.ends_with('/')) place.remove_suffix(1);
  if (place.find('@') != std::string_view::npos) {
    return Malformed("has a user or password, which OTLP over gRPC has no place for");
  }
  if (place.find_first_of("/?#") != std::string_view::npos) {
    return Malformed("must end with host and port: spans go by OTLP over gRPC, not to a path, is " +
                     text::Quoted(text));
  }
  std::string with_port(place);
  if (!HasPort(place)) with_port += kDefaultPort;
  // The rules for host and port are those of a listener.
  const absl::StatusOr<ListenAddress> address = ParseListenAddress(with_port);
  if (!address.ok()) return address.status();
  if (address->is_unix() || address->security != Security::kNone) {
    return Malformed("must have a host after http:// or https://, is " + text::Quoted(text));
  }
  if (address->port == 0) return Malformed("the port must be from 1 to 65535, is 0");
  return TracesEndpoint{.target = address->Place(), .tls = tls};
}

}  // namespace lockkeeper::config
