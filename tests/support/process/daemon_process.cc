// SPDX-License-Identifier: Apache-2.0
#include "support/process/daemon_process.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string_view>

namespace lockkeeper::support {
namespace {

// A sanitized daemon on a busy machine is slow.
constexpr std::chrono::milliseconds kLimit{60'000};
constexpr std::chrono::milliseconds kPollInterval{5};

std::string ReadFile(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

// The servers of tests have just been started, and nobody knew their stores before: nothing is
// waited for, unless the test says so.
auto WithoutFirstUseWait(std::vector<std::pair<std::string, std::string>> environment) {
  const std::string wait = "LOCKKEEPERD_STORE_FIRST_USE_WAIT";
  const bool set = std::any_of(environment.begin(), environment.end(),
                               [&](const auto& variable) { return variable.first == wait; });
  if (!set) environment.emplace_back(wait, "0s");
  return environment;
}

}  // namespace

DaemonProcess::DaemonProcess(const DaemonProcessOptions& options) {
  std::vector<std::string> command = {options.program};
  command.insert(command.end(), options.arguments.begin(), options.arguments.end());
  process_ = std::make_unique<ChildProcess>(
      ChildProcessOptions{.command = command,
                          .output_file = directory_.Path("stdout"),
                          .error_file = directory_.Path("stderr"),
                          .working_directory = directory_.path(),
                          .environment = WithoutFirstUseWait(options.environment)});
}

template <typename Condition>
void DaemonProcess::WaitFor(const std::string& what, Condition condition) {
  const auto until = std::chrono::steady_clock::now() + kLimit;
  while (!condition()) {
    const bool ended = process_->WaitForEnd(kPollInterval).has_value();
    // It may have written the last of it just before its end.
    if (ended && condition()) return;
    if (ended) throw std::runtime_error("lockkeeperd ended before " + what + ":\n" + Stderr());
    if (std::chrono::steady_clock::now() > until) {
      throw std::runtime_error("lockkeeperd: no " + what + ":\n" + Stderr());
    }
  }
}

void DaemonProcess::WaitUntilReady() {
  WaitFor("ready line", [this] { return Stdout().ends_with('\n'); });
}

void DaemonProcess::WaitForLog(const std::string& text) {
  WaitFor("\"" + text + "\" in the log", [&] { return Stderr().find(text) != std::string::npos; });
}

std::string DaemonProcess::Stdout() const { return ReadFile(directory_.Path("stdout")); }
std::string DaemonProcess::Stderr() const { return ReadFile(directory_.Path("stderr")); }

std::string DaemonProcess::Word(const std::string& name) const {
  std::istringstream line(Stdout());
  for (std::string word; line >> word;) {
    if (word.starts_with(name)) return word.substr(name.size());
  }
  throw std::runtime_error("lockkeeperd: no " + name + " in its ready line: " + Stdout());
}

std::vector<std::string> DaemonProcess::GrpcAddresses() const { return Split(Word("grpc="), ','); }

std::string DaemonProcess::HttpAddress() const { return Word("http="); }

ProcessEnd DaemonProcess::WaitForEnd() {
  const std::optional<ProcessEnd> end = process_->WaitForEnd(kLimit);
  if (!end) throw std::runtime_error("lockkeeperd does not end:\n" + Stderr());
  return *end;
}

}  // namespace lockkeeper::support
