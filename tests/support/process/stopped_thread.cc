// SPDX-License-Identifier: Apache-2.0
#include "support/process/stopped_thread.h"

#include <sys/ptrace.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>

namespace lockkeeper::support {

StoppedThread::StoppedThread(pid_t thread) : thread_(thread) {
  if (ptrace(PTRACE_SEIZE, thread_, nullptr, nullptr) != 0) return;
  is_traced_ = true;
  if (ptrace(PTRACE_INTERRUPT, thread_, nullptr, nullptr) != 0) return;
  is_stopped_ = waitpid(thread_, nullptr, __WALL) == thread_;
}

StoppedThread::~StoppedThread() {
  if (is_traced_) ptrace(PTRACE_DETACH, thread_, nullptr, nullptr);
}

std::optional<pid_t> ThreadCalled(const std::string& name, pid_t process) {
  const std::string tasks = "/proc/" + std::to_string(process) + "/task";
  for (const auto& task : std::filesystem::directory_iterator(tasks)) {
    std::string found;
    std::getline(std::ifstream(task.path() / "comm"), found);
    if (found == name) return std::stoi(task.path().filename());
  }
  return std::nullopt;
}

}  // namespace lockkeeper::support
