// SPDX-License-Identifier: Apache-2.0
#include "bench/load/redis_commands.h"

#include <set>
#include <sstream>
#include <string_view>

#include "support/process/redis_connection.h"

namespace lockkeeper::bench {
namespace {

std::string Info(const std::string& socket, const std::string& section) {
  return support::RedisConnection(socket).Run({"INFO", section}).text;
}

// What scripts do not run: connections, probes, and what this file asks.
const std::set<std::string_view>& CommandsOfClients() {
  static const auto& commands = *new std::set<std::string_view>{
      "info",           "ping",           "hello",      "auth",           "select",
      "client|setname", "config",         "config|get", "script|load",    "subscribe",
      "unsubscribe",    "client|setinfo", "role",       "client|no-evict"};
  return commands;
}

}  // namespace

pid_t RedisProcess(const std::string& socket) {
  const std::string info = Info(socket, "server");
  constexpr std::string_view kField = "process_id:";
  return static_cast<pid_t>(std::stol(info.substr(info.find(kField) + kField.size())));
}

CommandCounts CountCommands(const std::string& socket) {
  // cmdstat_evalsha:calls=12,usec=345,...
  constexpr std::string_view kPrefix = "cmdstat_";
  constexpr std::string_view kCalls = ":calls=";
  CommandCounts counts;
  std::istringstream lines(Info(socket, "commandstats"));
  for (std::string line; std::getline(lines, line);) {
    const size_t calls = line.find(kCalls);
    if (!line.starts_with(kPrefix) || calls == std::string::npos) continue;
    const std::string name = line.substr(kPrefix.size(), calls - kPrefix.size());
    const double count = std::stod(line.substr(calls + kCalls.size()));
    if (name == "evalsha") {
      counts.sent += count;
    } else if (!CommandsOfClients().contains(name)) {
      counts.inside += count;
    }
  }
  return counts;
}

}  // namespace lockkeeper::bench
