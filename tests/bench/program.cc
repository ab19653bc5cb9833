// SPDX-License-Identifier: Apache-2.0
#include "bench/program.h"

#include <chrono>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "support/process/child_process.h"
#include "support/process/temporary_directory.h"

namespace lockkeeper::bench {
namespace {

constexpr std::chrono::minutes kLimit{10};

std::string ReadFile(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

}  // namespace

std::string OutputOf(const std::vector<std::string>& command) {
  const support::TemporaryDirectory directory;
  support::ChildProcess process({.command = command,
                                 .output_file = directory.Path("stdout"),
                                 .error_file = directory.Path("stderr")});
  const auto end = process.WaitForEnd(kLimit);
  if (!end || end->exit_code != 0) {
    throw std::runtime_error(command.front() + (end ? " failed:\n" : " does not end:\n") +
                             ReadFile(directory.Path("stderr")));
  }
  return ReadFile(directory.Path("stdout"));
}

Figures RunProgram(const std::vector<std::string>& command) {
  const std::string output = OutputOf(command);
  Figures figures;
  std::istringstream lines(output);
  std::string name;
  double value = 0;
  while (lines >> name >> value) figures[name] = value;
  if (figures.empty() || !lines.eof()) {
    throw std::runtime_error(command.front() + " prints no figures:\n" + output);
  }
  return figures;
}

}  // namespace lockkeeper::bench
