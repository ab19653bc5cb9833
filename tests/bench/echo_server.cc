// SPDX-License-Identifier: Apache-2.0
#include "bench/echo_server.h"

#include <chrono>
#include <fstream>
#include <stdexcept>

#include "bench/load/process_stat.h"

namespace lockkeeper::bench {
namespace {

constexpr std::chrono::seconds kStartLimit{10};
constexpr std::chrono::milliseconds kPollInterval{5};

}  // namespace

EchoServer::EchoServer(const std::vector<std::string>& words, std::vector<std::string> client_words)
    : client_words_(std::move(client_words)) {
  const std::string output = directory_.Path("echo");
  std::vector<std::string> command = {ProgramPath("bench_echo_server")};
  command.insert(command.end(), words.begin(), words.end());
  process_.emplace(
      support::ChildProcessOptions{.command = std::move(command), .output_file = output});
  const auto until = std::chrono::steady_clock::now() + kStartLimit;
  for (;;) {
    std::ifstream file(output);
    std::string word;
    // The line is whole once its end is there.
    if (std::getline(file, word) && !file.eof() && word.starts_with("ready ")) {
      address_ = word.substr(word.find(' ') + 1);
      return;
    }
    if (process_->WaitForEnd(kPollInterval) || std::chrono::steady_clock::now() > until) {
      throw std::runtime_error("the echo server does not start: " + word);
    }
  }
}

double EchoServer::CpuSeconds() const { return CpuMicros(pid()) / 1e6; }

SecuredEchoServer::SecuredEchoServer()
    : EchoServer(TlsWords(authority, own), TlsWords(authority, client)) {}

}  // namespace lockkeeper::bench
