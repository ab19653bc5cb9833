// SPDX-License-Identifier: Apache-2.0
//
// Where the daemon listens, and how it is secured there: `host:port`, `[v6]:port` or `unix:/path`;
// with `tls://` or `mtls://` before a host.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace lockkeeper::config {

// kMutualTls: a client must prove who it is by a certificate.
enum class Security { kNone, kTls, kMutualTls };

struct ListenAddress {
  std::string host;   // Without brackets; empty if `path` is given.
  uint16_t port = 0;  // 0: the system chooses.
  std::string path;   // Of a unix socket; empty if `host` is given.
  Security security = Security::kNone;

  bool is_unix() const { return !path.empty(); }
  bool is_localhost() const { return host == "localhost"; }

  // Whether only this machine can reach the address: a unix socket, 127.0.0.0/8, ::1 or localhost.
  // Other names count as reachable from outside, whatever they resolve to.
  bool IsLocal() const;

  // The form that ParseListenAddress reads.
  std::string ToString() const;

  // The same without the security: two listeners cannot share it.
  std::string Place() const;

  bool operator==(const ListenAddress&) const = default;
};

// Errors: INVALID_FIELD that says what is wrong with `text`.
absl::StatusOr<ListenAddress> ParseListenAddress(std::string_view text);

}  // namespace lockkeeper::config
