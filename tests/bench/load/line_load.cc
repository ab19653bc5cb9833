// SPDX-License-Identifier: Apache-2.0
//
// Many acquires that wait behind held locks: what they cost while nothing happens, and how long a
// hand-over takes. Either all wait for one lock, or each for a lock of its own.
#include <CLI/CLI.hpp>
#include <deque>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "bench/load/latencies.h"
#include "bench/load/process_stat.h"
#include "bench/load/redis_commands.h"
#include "bench/load/waiters.h"

namespace lockkeeper::bench {
namespace {

using std::chrono::duration;

constexpr size_t kRoundTrips = 200;
constexpr size_t kBurst = 2000;  // Waiters that come at once.

struct Options {
  std::string address;
  std::string http;    // For its metrics.
  std::string socket;  // Of the daemon's Redis.
  pid_t daemon = 0;
  size_t connections = 8;
  size_t waiters = 10;
  bool one_lock = true;
  size_t hand_overs = 100;
  double seconds = 1;  // To look at it idle.
};

// Locks of this process alone: those of an earlier one may still be on their way to be free.
std::string LockName(size_t number) {
  return "bench/line/" + std::to_string(getpid()) + "/" + std::to_string(number);
}

// What idle waiters cost in processor time, as a share of one core.
void MeasureIdle(const Options& options, pid_t redis) {
  const double daemon_before = CpuMicros(options.daemon);
  const double redis_before = CpuMicros(redis);
  const auto begin = SteadyClock::now();
  LetPass(duration<double>(options.seconds));
  const duration<double, std::micro> elapsed = SteadyClock::now() - begin;
  PrintFigure("idle_daemon_cores", (CpuMicros(options.daemon) - daemon_before) / elapsed.count());
  PrintFigure("idle_redis_cores", (CpuMicros(redis) - redis_before) / elapsed.count());
}

void MeasureRoundTrips(Caller& caller) {
  Latencies latencies;
  for (size_t i = 0; i < kRoundTrips; ++i) {
    auto begin = SteadyClock::now();
    const v1::Lease lease = caller.Acquire("bench/round_trip");
    latencies.Add(SteadyClock::now() - begin);
    begin = SteadyClock::now();
    caller.Release(lease);
    latencies.Add(SteadyClock::now() - begin);
  }
  latencies.Print("round_trip");
}

// From sending Release until the next waiter has the lock: at once if the daemon claims for it;
// otherwise it has an offer first and the lock when its claim is answered. `held` is who has the
// locks, before and after.
void MeasureHandOvers(const Options& options, Caller& caller, Waiters& waiters,
                      std::deque<v1::Lease>& held) {
  Latencies grants, offers, claims;
  const CommandCounts before = CountCommands(options.socket);
  for (size_t i = 0; i < options.hand_overs; ++i) {
    const auto sent = SteadyClock::now();
    caller.Release(held.front());
    held.pop_front();
    Granted granted = waiters.Next();
    (granted.lease.offered() ? offers : grants).Add(granted.at - sent);
    if (granted.lease.offered()) {
      caller.Claim(granted.lease);
      claims.Add(SteadyClock::now() - sent);
    }
    held.push_back(std::move(granted.lease));
  }
  const CommandCounts after = CountCommands(options.socket);
  grants.Print("grant");
  offers.Print("offer");
  claims.Print("claim");
  const auto hand_overs = static_cast<double>(options.hand_overs);
  PrintFigure("sent_per_hand_over", (after.sent - before.sent) / hand_overs);
  PrintFigure("inside_per_hand_over", (after.inside - before.inside) / hand_overs);
}

void Run(const Options& options) {
  const pid_t redis = RedisProcess(options.socket);
  Caller caller(options.address);
  std::deque<v1::Lease> held;
  for (size_t i = 0; i < (options.one_lock ? 1 : options.waiters); ++i) {
    held.push_back(caller.Acquire(LockName(i)));
  }
  const double memory_before = ResidentBytes(options.daemon);

  Waiters waiters(options.address, options.connections);
  for (size_t i = 0; i < options.waiters; ++i) {
    waiters.Start(LockName(options.one_lock ? 0 : i), i % 2 == 0 ? Claims::kDaemon : Claims::kWe);
    if (i % kBurst == kBurst - 1) AwaitWaiters(options.http, i + 1);
  }
  AwaitWaiters(options.http, options.waiters);
  PrintFigure("bytes_per_waiter", (ResidentBytes(options.daemon) - memory_before) /
                                      static_cast<double>(options.waiters));
  MeasureIdle(options, redis);
  MeasureRoundTrips(caller);
  MeasureHandOvers(options, caller, waiters, held);
  waiters.Leave();
  AwaitWaiters(options.http, 0);
  for (const v1::Lease& lease : held) caller.Release(lease);
}

}  // namespace
}  // namespace lockkeeper::bench

int main(int argc, char** argv) {
  lockkeeper::bench::Options options;
  CLI::App app("Lets many acquires wait for held locks");
  app.add_option("--address", options.address, "Where the daemon listens")->required();
  app.add_option("--http", options.http, "Where it serves metrics")->required();
  app.add_option("--socket", options.socket, "Unix socket of its Redis")->required();
  app.add_option("--daemon", options.daemon, "Its process id")->required();
  app.add_option("--connections", options.connections)->check(CLI::Range(1, 1024));
  app.add_option("--waiters", options.waiters)->check(CLI::Range(1, 20'000));
  app.add_flag("!--own-locks", options.one_lock, "Each waits for a lock of its own");
  app.add_option("--hand-overs", options.hand_overs, "At most as many as waiters")
      ->check(CLI::Range(2, 20'000));
  app.add_option("--seconds", options.seconds)->check(CLI::Range(0.01, 20.0));
  CLI11_PARSE(app, argc, argv);
  try {
    if (options.hand_overs > options.waiters)
      throw std::runtime_error("more hand-overs than waiters");
    lockkeeper::bench::Run(options);
  } catch (const std::exception& error) {
    std::cerr << "bench_line_load: " << error.what() << "\n";
    return 1;
  }
  return 0;
}
