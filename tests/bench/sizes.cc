// SPDX-License-Identifier: Apache-2.0
#include "bench/sizes.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "bench/machine.h"
#include "bench/program.h"
#include "bench/rows/service_load.h"
#include "bench/service.h"

namespace lockkeeper::bench {
namespace {

// Something whose memory is measured, on a service of its own.
struct Thing {
  std::string name;  // As `bench_load sizes` has it.
  std::string what;
  double count;  // So many, and then as many again.
  bool tls = false;
};

const std::vector<Thing>& Things() {
  static const auto& things =
      *new std::vector<Thing>{{"connections", "an idle connection", 500},
                              {"connections", "the same with mutual TLS", 200, true},
                              {"sessions", "an idle session, with its connection", 500},
                              {"leases", "a lease that unary calls keep", 10'000},
                              {"session-leases", "a lease that a session keeps", 30'000},
                              {"released", "the record of a released lock", 10'000},
                              {"waiters", "a waiter of a unary call", 2'000},
                              {"session-waiters", "a waiter of a session", 5'000}};
  return things;
}

// Its records stay, however long it takes.
class KeepingService : public RedisService {
 public:
  KeepingService() : RedisService({}, {{"LOCKKEEPERD_STORE_RECORD_RETENTION", "1h"}}) {}
};

struct Load {
  std::string what;
  Figures (*measure)(const Service&, const Depth&, double);
  Depth depth;
};

const std::vector<Load>& Loads() {
  static const auto& loads =
      *new std::vector<Load>{{"unary calls, 1 at a time", MeasureUnary, {1, 1}},
                             {"unary calls, 64 at a time", MeasureUnary, {4, 16}},
                             {"unary calls, 512 at a time", MeasureUnary, {8, 64}},
                             {"a session, 1 operation at a time", MeasureSession, {1, 1}},
                             {"a session, 64 at a time", MeasureSession, {1, 64}},
                             {"a session, 512 at a time", MeasureSession, {1, 512}}};
  return loads;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// By name, the medians of what `measure` answers in each round.
Figures MediansOf(int rounds, const std::function<Figures()>& measure) {
  std::map<std::string, std::vector<double>> values;
  for (int i = 0; i < rounds; ++i) {
    for (const auto& [name, value] : measure()) values[name].push_back(value);
  }
  Figures medians;
  for (auto& [name, all] : values) medians[name] = Median(std::move(all));
  return medians;
}

Figures MeasureThing(const Thing& thing, double count, const RedisService& service) {
  std::vector<std::string> command = WatchedLoad("sizes", service.daemon(), service.redis());
  command.insert(command.end(), {"--thing", thing.name, "--count",
                                 std::to_string(static_cast<int64_t>(std::ceil(count)))});
  command.insert(command.end(), service.client_words().begin(), service.client_words().end());
  return RunProgram(command);
}

Figures MeasureThing(const Thing& thing, double count) {
  return thing.tls ? MeasureThing(thing, count, SecuredService())
                   : MeasureThing(thing, count, KeepingService());
}

std::string Number(double value, int decimals) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return text;
}

}  // namespace

void MeasureSizes(const SizesOptions& options) {
  const Servers servers;
  for (const auto& [name, value] : DescribeMachine(servers)) {
    std::cout << "- " << name << ": " << value << "\n";
  }
  std::cout << "- command: `./dev bench sizes`, medians of " << options.rounds << " rounds\n"
            << "\n| one more of | measured with | daemon, bytes | Redis, bytes |\n"
            << "|---|---|---|---|\n"
            << std::flush;
  for (const Thing& thing : Things()) {
    const double count = thing.count * options.share;
    const Figures medians = MediansOf(options.rounds, [&] { return MeasureThing(thing, count); });
    std::cout << "| " << thing.what << " | " << Number(std::ceil(count), 0) << " | "
              << Number(medians.at("daemon_bytes"), 0) << " | "
              << Number(medians.at("redis_bytes"), 0) << " |\n"
              << std::flush;
  }
  std::cout
      << "\n| acquires and releases in turn | operations per second | daemon's CPU µs | CPU µs "
         "of Redis |\n|---|---|---|---|\n"
      << std::flush;
  for (const Load& load : Loads()) {
    const RedisService service;
    const Figures medians = MediansOf(
        options.rounds, [&] { return load.measure(service, load.depth, options.seconds); });
    std::cout << "| " << load.what << " | " << Number(medians.at("rpc_per_s"), 0) << " | "
              << Number(medians.at("server_cpu_us_per_rpc"), 1) << " | "
              << Number(medians.at("redis_cpu_us_per_rpc"), 1) << " |\n"
              << std::flush;
  }
}

}  // namespace lockkeeper::bench
