// SPDX-License-Identifier: Apache-2.0
#include "bench/load/watch.h"

#include <condition_variable>
#include <mutex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string_view>

#include "support/process/http_get.h"
#include "support/process/redis_connection.h"

namespace lockkeeper::bench {
namespace {

constexpr std::chrono::seconds kPatience{60};

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

void AddWatchedOptions(CLI::App& command, Watched& watched) {
  command.add_option("--address", watched.address, "Where the daemon listens")->required();
  command.add_option("--http", watched.http, "Where it serves metrics")->required();
  command.add_option("--socket", watched.socket, "Unix socket of its Redis")->required();
  command.add_option("--daemon", watched.daemon, "Its process id")->required();
}

void AwaitWaiters(const std::string& http, size_t count) {
  const std::string wanted = "\nlockkeeper_waiters " + std::to_string(count) + "\n";
  const auto until = SteadyClock::now() + kPatience;
  for (;;) {
    if (support::HttpGet(http, "/metrics").body.find(wanted) != std::string::npos) return;
    if (SteadyClock::now() > until) {
      throw std::runtime_error(std::to_string(count) + " waiters are not reached");
    }
    LetPass(std::chrono::milliseconds(20));
  }
}

void LetPass(std::chrono::duration<double> time) {
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable().wait_for(lock, time, [] { return false; });
}

Cores::Cores(const Watched& watched)
    : daemon_(watched.daemon),
      redis_(RedisProcess(watched.socket)),
      daemon_before_(CpuMicros(daemon_)),
      redis_before_(CpuMicros(redis_)) {}

void Cores::Print(const std::string& name) const {
  const std::chrono::duration<double, std::micro> elapsed = SteadyClock::now() - begin_;
  PrintFigure(name + "_daemon_cores", (CpuMicros(daemon_) - daemon_before_) / elapsed.count());
  PrintFigure(name + "_redis_cores", (CpuMicros(redis_) - redis_before_) / elapsed.count());
}

}  // namespace lockkeeper::bench
