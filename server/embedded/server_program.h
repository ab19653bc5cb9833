// SPDX-License-Identifier: Apache-2.0
//
// Finds the program of the embedded store, and writes its settings.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace lockkeeper::embedded {

// The path of `configured`; if that is empty, of redis-server or else valkey-server in
// `search_path` (folders separated by colons, as in PATH). Errors: STORE_UNAVAILABLE that names the
// package to install.
absl::StatusOr<std::string> FindServerProgram(const std::string& configured,
                                              std::string_view search_path);

// The text of the server's configuration file: durable, no eviction, no TCP port.
std::string ServerSettings(const std::string& data_directory, const std::string& socket_path);

// `path` as a URL of the Redis client: unix:///...
std::string SocketUrl(std::string_view path);

}  // namespace lockkeeper::embedded
