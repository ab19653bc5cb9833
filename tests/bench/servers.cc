// SPDX-License-Identifier: Apache-2.0
#include "bench/servers.h"

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <vector>

namespace lockkeeper::bench {
namespace {

constexpr std::chrono::seconds kStartLimit{10};
constexpr std::chrono::milliseconds kPollInterval{5};

}  // namespace

std::string ProgramPath(const std::string& name) {
  return std::filesystem::read_symlink("/proc/self/exe").replace_filename(name);
}

double CpuMicros(pid_t process) {
  // proc(5): the name in brackets may hold spaces; user and system time are the 12th and 13th
  // after.
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::istringstream words(text.substr(text.find_last_of(')') + 1));
  const std::vector<std::string> fields{std::istream_iterator<std::string>(words), {}};
  constexpr size_t kUser = 11;
  constexpr size_t kSystem = 12;
  if (fields.size() <= kSystem) throw std::runtime_error("a server has ended");
  const double ticks = std::stod(fields[kUser]) + std::stod(fields[kSystem]);
  return ticks * 1e6 / static_cast<double>(sysconf(_SC_CLK_TCK));
}

Servers::Servers()
    : daemon_({.program = ProgramPath("lockkeeperd"),
               .arguments = {"--listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0", "--redis",
                             redis_.unix_url()}}) {
  StartEcho();
  daemon_.WaitUntilReady();
}

double Servers::CpuSeconds() const {
  return (CpuMicros(redis_.pid()) + CpuMicros(daemon_.pid()) + CpuMicros(echo())) / 1e6;
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
