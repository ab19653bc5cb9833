// SPDX-License-Identifier: Apache-2.0
#include "bench/servers.h"

#include <chrono>
#include <fstream>
#include <stdexcept>

#include "bench/load/process_stat.h"

namespace lockkeeper::bench {
namespace {

constexpr std::chrono::seconds kStartLimit{10};
constexpr std::chrono::milliseconds kPollInterval{5};

}  // namespace

Servers::Servers() { StartEcho(); }

double Servers::CpuSeconds() const {
  return service_.CpuSeconds() + CpuMicros(echo()) / 1e6 + durable_.CpuSeconds() +
         tcp_.CpuSeconds() + tls_.CpuSeconds() + cluster_.CpuSeconds() + replicated_.CpuSeconds() +
         confirmed_.CpuSeconds() + audited_.CpuSeconds() + traced_.CpuSeconds() +
         fully_traced_.CpuSeconds() + observed_.CpuSeconds() + secured_.CpuSeconds() +
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
