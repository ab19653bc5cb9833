// SPDX-License-Identifier: Apache-2.0
//
// A daemon that does not notice when its store forgets. All its settings come from the environment,
// but for --listen, --http-listen and --redis.
#include <unistd.h>

#include <iostream>
#include <span>

#include "config/config_loader.h"
#include "daemon/daemon.h"
#include "daemon/signals.h"
#include "telemetry/log.h"

namespace lockkeeper::bench {
namespace {

int Main(std::span<char*> arguments) {
  daemon::Signals signals;
  config::ConfigSources sources{.environment = config::EnvironmentOf(environ)};
  for (size_t i = 1; i + 1 < arguments.size(); i += 2) {
    sources.flags.push_back({arguments[i], {arguments[i + 1]}});
  }
  const auto loaded = config::ReadConfig(sources);
  const auto output = telemetry::MakeStderrOutput();
  telemetry::Log log({}, *output);
  const auto daemon = loaded.ok() ? Daemon::Start(loaded->config, log, Daemon::Guard::kOff)
                                  : absl::StatusOr<std::unique_ptr<Daemon>>(loaded.status());
  if (!daemon.ok()) {
    std::cerr << "bench_unguarded_daemon: " << daemon.status().message() << "\n";
    return 1;
  }
  std::cout << "lockkeeperd ready " << (*daemon)->Addresses() << std::endl;
  signals.Wait(-1);
  return 0;
}

}  // namespace
}  // namespace lockkeeper::bench

int main(int argc, char** argv) {
  return lockkeeper::bench::Main({argv, static_cast<size_t>(argc)});
}
