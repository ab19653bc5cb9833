// SPDX-License-Identifier: Apache-2.0
#include "bench/load/load.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>
#include <sys/resource.h>

#include "bench/load/watchers.h"

namespace lockkeeper::bench {
namespace {

using Phase = LoadControl::Phase;
using std::chrono::duration;

constexpr duration<double> kWarmUp{0.4};

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace

CLI::App& AddLoad(CLI::App& app, const std::string& name, const std::string& what,
                  const std::function<void(const LoadOptions&)>& run) {
  CLI::App& command = *app.add_subcommand(name, what);
  const auto options = std::make_shared<LoadOptions>();
  command.add_option("--address", options->address, "Where the server listens")->required();
  command.add_option("--tls-ca", options->tls.ca, "PEM file of the server's CA");
  command.add_option("--tls-cert", options->tls.certificate);
  command.add_option("--tls-key", options->tls.key);
  command.add_option("--connections", options->connections)->check(CLI::Range(1, 1024));
  command.add_option("--outstanding", options->outstanding, "Calls at a time on each connection")
      ->check(CLI::Range(1, 8192));
  command.add_option("--seconds", options->seconds)->check(CLI::Range(0.01, 600.0));
  command.add_option("--watchers", options->watchers, "Watches beside it")
      ->check(CLI::Range(0, 64));
  command.add_option("--watch-prefix", options->watch_prefix,
                     "Names that they hear of; default: all");
  command.add_option("--deaf-watchers", options->deaf_watchers, "The same that do not read")
      ->check(CLI::Range(0, 64));
  command.callback([options, run] {
    Watchers watchers(*options);
    run(*options);
    watchers.Print();
  });
  return command;
}

std::shared_ptr<grpc::Channel> ConnectAlone(const std::string& address,
                                            const support::ClientFiles& tls) {
  if (!tls.ca.empty()) return support::SecureChannel(address, tls);
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

Counted CountLoad(LoadControl& control, double seconds, size_t ends) {
  control.Run(Phase::kWarmUp, kWarmUp);
  const double cpu_before = CpuSeconds();
  const auto begin = SteadyClock::now();
  control.Run(Phase::kCount, duration<double>(seconds));
  const Counted counted{.elapsed = SteadyClock::now() - begin,
                        .cpu_seconds = CpuSeconds() - cpu_before};
  control.Stop(ends);
  return counted;
}

void PrintLoad(const Counted& counted, LatenciesByCall& latencies, uint64_t all_calls) {
  double count = 0;
  for (const auto& [call, of_call] : latencies) count += static_cast<double>(of_call.count());
  PrintFigure("rpc_per_s", count / counted.elapsed.count());
  PrintFigure("client_cpu_us_per_rpc", counted.cpu_seconds * 1e6 / count);
  PrintFigure("calls", static_cast<double>(all_calls));
  for (auto& [call, of_call] : latencies) of_call.Print(call);
}

void RunClosedLoops(const LoadOptions& options, const MakeLoop& make) {
  LoadControl control;
  std::vector<std::unique_ptr<CallLoop>> loops;
  for (size_t i = 0; i < options.connections; ++i) {
    const std::shared_ptr<grpc::Channel> channel = ConnectAlone(options.address, options.tls);
    for (size_t k = 0; k < options.outstanding; ++k) {
      loops.push_back(make(control, channel, loops.size()));
    }
  }
  for (auto& loop : loops) loop->Start();
  const Counted counted = CountLoad(control, options.seconds, loops.size());

  LatenciesByCall latencies;
  uint64_t calls = 0;
  for (const auto& loop : loops) {
    for (const auto& [call, of_call] : loop->latencies()) latencies[call].Merge(of_call);
    calls += loop->calls();
  }
  PrintLoad(counted, latencies, calls);
}

}  // namespace lockkeeper::bench
