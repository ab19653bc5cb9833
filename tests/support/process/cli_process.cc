// SPDX-License-Identifier: Apache-2.0
#include "support/process/cli_process.h"

#include <poll.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace lockkeeper::support {
namespace {

constexpr std::chrono::seconds kLimit{30};

std::string ContentOf(const std::string& path) {
  std::ostringstream content;
  // Does not throw if a process ends while its file in /proc is read.
  content << std::ifstream(path, std::ios::binary).rdbuf();
  return content.str();
}

// Fields of /proc/PID/stat that matter here.
struct ProcessStat {
  char state = 'X';
  pid_t group = 0;

  bool is_alive() const { return state != 'Z' && state != 'X'; }
};

ProcessStat StatOf(const std::string& pid) {
  const std::string stat = ContentOf("/proc/" + pid + "/stat");
  const size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream rest(stat.substr(name_end + 1));
  ProcessStat process;
  pid_t parent = 0;
  rest >> process.state >> parent >> process.group;
  return process;
}

}  // namespace

CliProcess::CliProcess(const std::string& program, const std::string& server,
                       const std::vector<std::string>& arguments) {
  std::vector<std::string> command = {"/bin/sh", "-c", "exec \"$@\" 2>\"$0\"",
                                      directory_.Path("err"), program};
  command.insert(command.end(), arguments.begin(), arguments.end());
  child_.emplace(ChildProcessOptions{.command = command,
                                     .output_file = directory_.Path("out"),
                                     .environment = {{"LOCKKEEPER_SERVER", server}}});
}

std::string CliProcess::out() const { return ContentOf(directory_.Path("out")); }
std::string CliProcess::err() const { return ContentOf(directory_.Path("err")); }

bool CliProcess::WaitForOutput(const std::string& text) const {
  return WaitUntil([&] { return out().find(text) != std::string::npos; });
}

CliResult CliProcess::Wait() {
  const std::optional<ProcessEnd> end = child_->WaitForEnd(kLimit);
  return {end && end->exit_code ? *end->exit_code : -1, out(), err()};
}

CliResult RunCli(const std::string& program, const std::string& server,
                 const std::vector<std::string>& arguments) {
  return CliProcess(program, server, arguments).Wait();
}

void PauseBetweenLooks() { poll(nullptr, 0, 2); }

char StateOf(pid_t pid) { return StatOf(std::to_string(pid)).state; }

bool IsAlive(pid_t pid) {
  if (pid > 0) return StatOf(std::to_string(pid)).is_alive();
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const ProcessStat process = StatOf(name);
    if (process.group == -pid && process.is_alive()) return true;
  }
  return false;
}

}  // namespace lockkeeper::support
