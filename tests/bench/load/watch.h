// SPDX-License-Identifier: Apache-2.0
//
// What a load sees of the daemon and its Redis besides answers: waiters, processes, commands.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>

#include "bench/load/load.h"
#include "bench/load/process_stat.h"

namespace lockkeeper::bench {

// Where the daemon and its Redis are seen.
struct Watched {
  std::string address;
  std::string http;    // For the daemon's metrics.
  std::string socket;  // Of its Redis.
  pid_t daemon = 0;
};

// Makes them options of `command`.
void AddWatchedOptions(CLI::App& command, Watched& watched);

// Waits until this many acquires wait at the daemon, as the metrics at `http` tell.
// Errors: throws std::runtime_error if they do not within a minute.
void AwaitWaiters(const std::string& http, size_t count);

// Waits without doing anything.
void LetPass(std::chrono::duration<double> time);

pid_t RedisProcess(const std::string& socket);

// Without those that ask for it.
struct CommandCounts {
  double sent = 0;    // Script calls that clients sent.
  double inside = 0;  // Commands that scripts ran.
};

CommandCounts CountCommands(const std::string& socket);

// The processor time of both from its construction on, as a share of one core.
class Cores {
 public:
  explicit Cores(const Watched& watched);

  // Prints NAME_daemon_cores and NAME_redis_cores.
  void Print(const std::string& name) const;

 private:
  const pid_t daemon_, redis_;
  const double daemon_before_, redis_before_;
  const SteadyClock::time_point begin_ = SteadyClock::now();
};

}  // namespace lockkeeper::bench
