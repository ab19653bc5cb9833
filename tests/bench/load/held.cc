// SPDX-License-Identifier: Apache-2.0
//
// What a session costs that only holds: leases that one heartbeat keeps alive, and acquires that
// wait. In the daemon's memory, and in processor time.
#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "bench/load/session_caller.h"
#include "bench/load/watch.h"

namespace lockkeeper::bench {
namespace {

using std::chrono::seconds;

constexpr int kTtlSeconds = 30;
constexpr int kWaitSeconds = 600;
constexpr seconds kBeatInterval{10};
constexpr size_t kWaitersAtOnce = 500;
constexpr size_t kWaitersOfSession = 10'000;

struct Options : Watched {
  size_t leases = 0;
  size_t waiters = 0;
  int beats = 4;
};

// 24 bytes.
std::string LockName(size_t number) {
  return "bench/held/lock/" + std::to_string(10'000'000 + number);
}

double PerPiece(double memory_before, pid_t daemon, size_t pieces) {
  return (ResidentBytes(daemon) - memory_before) / static_cast<double>(pieces);
}

// Heartbeats extend each lease at every second beat, when 10 s of its 30 s are left: an even number
// of them is what a client pays in the long run.
void KeepAlive(const Options& options, SessionCaller& session) {
  const Cores cores(options);
  const CommandCounts commands_before = CountCommands(options.socket);
  const auto begin = SteadyClock::now();
  Latencies answers;
  for (int i = 1; i <= options.beats; ++i) {
    LetPass(begin + i * kBeatInterval - SteadyClock::now());
    const auto sent = SteadyClock::now();
    session.Heartbeat();
    answers.Add(SteadyClock::now() - sent);
  }
  cores.Print("heartbeat");
  PrintFigure("script_calls", CountCommands(options.socket).sent - commands_before.sent);
  answers.Print("heartbeat");
}

void HoldLeases(const Options& options, SessionCaller& session) {
  std::vector<std::string> names;
  names.reserve(options.leases);
  for (size_t i = 0; i < options.leases; ++i) names.push_back(LockName(i));
  const double memory_before = ResidentBytes(options.daemon);
  session.Acquire(names, kTtlSeconds);
  PrintFigure("bytes_per_lease", PerPiece(memory_before, options.daemon, options.leases));
  KeepAlive(options, session);
}

// All for one lock, which another session holds.
void Wait(const Options& options, SessionCaller& holder) {
  const std::string name = LockName(options.leases);
  holder.Acquire({name}, kWaitSeconds);
  std::vector<std::unique_ptr<SessionCaller>> sessions;
  for (size_t i = 0; i < options.waiters; i += kWaitersOfSession) {
    sessions.push_back(std::make_unique<SessionCaller>(ConnectAlone(options.address)));
  }
  const double memory_before = ResidentBytes(options.daemon);
  // Some at a time: what is asked for is the memory of waiting, not that of thousands who come in
  // one moment, which the allocator keeps.
  size_t standing = 0;
  for (const auto& session : sessions) {
    const size_t end = std::min(standing + kWaitersOfSession, options.waiters);
    while (standing < end) {
      const size_t count = std::min(end - standing, kWaitersAtOnce);
      session->StartWaiting(name, count, kWaitSeconds);
      standing += count;
      AwaitWaiters(options.http, standing);
    }
  }
  PrintFigure("bytes_per_waiter", PerPiece(memory_before, options.daemon, options.waiters));
}

void Run(const Options& options) {
  SessionCaller session(ConnectAlone(options.address));
  if (options.leases > 0) HoldLeases(options, session);
  if (options.waiters > 0) Wait(options, session);
}

}  // namespace

void AddHeld(CLI::App& app) {
  CLI::App& command = *app.add_subcommand("held", "Holds leases in a session, or waits in some");
  const auto options = std::make_shared<Options>();
  AddWatchedOptions(command, *options);
  command.add_option("--leases", options->leases)->check(CLI::Range(0, 1'000'000));
  command.add_option("--waiters", options->waiters)->check(CLI::Range(0, 20'000));
  command.add_option("--beats", options->beats, "Heartbeats, one each 10 s")
      ->check(CLI::Range(1, 60));
  command.callback([options] { Run(*options); });
}

}  // namespace lockkeeper::bench
