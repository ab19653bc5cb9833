// SPDX-License-Identifier: Apache-2.0
#include "embedded/server_program.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "core/errors.h"

namespace lockkeeper::embedded {
namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";

absl::Status StartError(const std::string& what) {
  return core::Error(core::ErrorReason::kStoreUnavailable, what);
}

// The first program `name` in the folders of `search_path`; empty if there is none.
std::string FindInPath(const std::string& name, std::string_view search_path) {
  while (!search_path.empty()) {
    const size_t end = std::min(search_path.find(':'), search_path.size());
    const std::string path = std::string(search_path.substr(0, end)) + "/" + name;
    if (end > 0 && access(path.c_str(), X_OK) == 0) return path;
    search_path.remove_prefix(std::min(end + 1, search_path.size()));
  }
  return "";
}

bool IsPlain(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         std::string_view("/-._~").find(c) != std::string_view::npos;
}

std::string Hex(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return {kHexDigits[byte >> 4], kHexDigits[byte & 0xf]};
}

// Quotes a word of any bytes for the server's configuration file.
std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) quoted += IsPlain(c) ? std::string(1, c) : "\\x" + Hex(c);
  return quoted + "\"";
}

}  // namespace

absl::StatusOr<std::string> FindServerProgram(const std::string& configured,
                                              std::string_view search_path) {
  if (configured.empty()) {
    for (const char* name : {"redis-server", "valkey-server"}) {
      std::string path = FindInPath(name, search_path);
      if (!path.empty()) return path;
    }
    return StartError(
        "the embedded store needs redis-server or valkey-server, and neither is in PATH: install "
        "the package redis-server, or set store.embedded_program");
  }
  std::string path =
      configured.find('/') == std::string::npos ? FindInPath(configured, search_path) : configured;
  if (path.empty()) return StartError("store.embedded_program: " + configured + " is not in PATH");
  if (access(path.c_str(), X_OK) != 0) {
    return StartError("store.embedded_program: cannot run " + path + ": " +
                      std::generic_category().message(errno));
  }
  return path;
}

std::string ServerSettings(const std::string& data_directory, const std::string& socket_path) {
  return "# Written by lockkeeperd at each start; changes are lost.\n"
         "port 0\n"
         "unixsocket " +
         Quoted(socket_path) +
         "\n"
         "unixsocketperm 600\n"
         "dir " +
         Quoted(data_directory) +
         "\n"
         "daemonize no\n"
         "supervised no\n"
         "databases 1\n"
         "\n"
         "# A grant is on disk before it is answered.\n"
         "appendonly yes\n"
         "appendfsync always\n"
         "no-appendfsync-on-rewrite no\n"
         "aof-use-rdb-preamble yes\n"
         "save \"\"\n"
         "stop-writes-on-bgsave-error no\n"
         "\n"
         "# Locks are never dropped to make room.\n"
         "maxmemory-policy noeviction\n";
}

std::string SocketUrl(std::string_view path) {
  std::string url = "unix://";
  for (const char c : path) url += IsPlain(c) ? std::string(1, c) : "%" + Hex(c);
  return url;
}

}  // namespace lockkeeper::embedded
