// SPDX-License-Identifier: Apache-2.0
//
// Which program is the embedded store, and with what settings it runs.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace lockkeeper::embedded {

// The path of `configured`, or, if that is empty, of redis-server or else valkey-server in
// `search_path` (folders with colons between them, as in PATH).
// Errors: STORE_UNAVAILABLE that names the package to install.
absl::StatusOr<std::string> FindServerProgram(const std::string& configured,
                                              std::string_view search_path);

// The text of the server's configuration file: durable, no eviction, no TCP port.
std::string ServerSettings(const std::string& data_directory, const std::string& socket_path);

// `path` as a URL that the Redis client reads: unix:///...
std::string SocketUrl(std::string_view path);

}  // namespace lockkeeper::embedded
