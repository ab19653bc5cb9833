// SPDX-License-Identifier: Apache-2.0
#include "bench/service.h"

#include <filesystem>

#include "bench/load/process_stat.h"

namespace lockkeeper::bench {

std::string ProgramPath(const std::string& name) {
  return std::filesystem::read_symlink("/proc/self/exe").replace_filename(name);
}

support::DaemonProcessOptions DaemonOn(const support::RedisServer& redis) {
  return {.program = ProgramPath("lockkeeperd"),
          .arguments = {"--listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0", "--redis",
                        redis.unix_url()},
          // On a busy machine thousands of waiters take their time; that is no outage, and nobody
          // extends the leases that they wait for.
          .environment = {{"LOCKKEEPERD_STORE_REQUEST_TIMEOUT", "30s"},
                          {"LOCKKEEPERD_LEASE_MAX_TTL", "10m"}}};
}

Service::Service(support::Durability durability)
    : redis_({.durability = durability}), daemon_(DaemonOn(redis_)) {
  daemon_.WaitUntilReady();
}

double Service::CpuSeconds() const {
  return (CpuMicros(redis_.pid()) + CpuMicros(daemon_.pid())) / 1e6;
}

}  // namespace lockkeeper::bench
