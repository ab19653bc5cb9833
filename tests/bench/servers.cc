// SPDX-License-Identifier: Apache-2.0
#include "bench/servers.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "bench/load/process_stat.h"

namespace lockkeeper::bench {
namespace {

constexpr std::chrono::seconds kStartLimit{10};
constexpr std::chrono::milliseconds kPollInterval{5};

}  // namespace

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

Servers::Servers() : daemon_(DaemonOn(redis_)) {
  StartEcho();
  daemon_.WaitUntilReady();
}

double Servers::CpuSeconds() const {
  return (CpuMicros(redis_.pid()) + CpuMicros(daemon_.pid()) + CpuMicros(echo())) / 1e6 +
         etcd_.CpuSeconds() + postgres_.CpuSeconds();
}

void Servers::StartEcho() {
  const std::string output = directory_.Path("echo");
  echo_ = std::make_unique<support::ChildProcess>(support::ChildProcessOptions{
      .command = {ProgramPath("bench_echo_server")}, .output_file = output});
  const auto until = std::chrono::steady_clock::now() + kStartLimit;
  for (;;) {
    std::ifstream file(output);
    std::string word;
    // The line is whole once its end is there.
    if (std::getline(file, word) && !file.eof() && word.starts_with("ready ")) {
      echo_address_ = word.substr(word.find(' ') + 1);
      return;
    }
    if (echo_->WaitForEnd(kPollInterval) || std::chrono::steady_clock::now() > until) {
      throw std::runtime_error("the echo server does not start: " + word);
    }
  }
}

}  // namespace lockkeeper::bench
