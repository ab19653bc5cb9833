// SPDX-License-Identifier: Apache-2.0
#include "support/process/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace lockkeeper::support {
namespace {

constexpr std::chrono::milliseconds kKillLimit{10'000};

[[noreturn]] void Fail(const std::string& what, int error) {
  throw std::runtime_error(what + ": " + std::strerror(error));
}

std::vector<char*> Pointers(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> Environment(const ChildProcessOptions& options) {
  std::vector<std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view variable = *entry;
    bool replaced = false;
    for (const auto& [name, value] : options.environment) {
      replaced = replaced || variable.starts_with(name + "=");
    }
    if (!replaced) variables.emplace_back(variable);
  }
  for (const auto& [name, value] : options.environment) {
    variables.push_back(std::string(name).append("=").append(value));
  }
  return variables;
}

// What the child needs; all memory is taken before the fork, when other threads may hold locks.
struct Image {
  pid_t parent;
  const char* output_file;
  const char* error_file;
  const char* working_directory;
  char** arguments;
  char** environment;
  int failure_pipe;
};

[[noreturn]] void BecomeProgram(const Image& image) {
  const auto fail = [&image] {
    const int error = errno;
    if (write(image.failure_pipe, &error, sizeof error) < 0) _exit(126);
    _exit(127);
  };
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) fail();
  if (getppid() != image.parent) _exit(127);  // The test died before the line above.
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  const int input = open("/dev/null", O_RDONLY);
  const int output = open(image.output_file, O_WRONLY | O_CREAT | O_APPEND, 0600);
  const int error = open(image.error_file, O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (input < 0 || output < 0 || error < 0) fail();
  if (dup2(input, 0) < 0 || dup2(output, 1) < 0 || dup2(error, 2) < 0) fail();
  if (*image.working_directory != '\0' && chdir(image.working_directory) != 0) fail();
  close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
  execvpe(image.arguments[0], image.arguments, image.environment);
  fail();
  _exit(127);
}

}  // namespace

const int ChildProcess::kContinue = SIGCONT;

ChildProcess::ChildProcess(const ChildProcessOptions& options) {
  std::vector<std::string> command = options.command;
  std::vector<std::string> variables = Environment(options);
  const std::string output = options.output_file.empty() ? "/dev/null" : options.output_file;
  const std::string error_output = options.error_file.empty() ? output : options.error_file;
  std::vector<char*> arguments = Pointers(command);
  std::vector<char*> environment = Pointers(variables);
  int pipe_ends[2];
  if (pipe2(pipe_ends, O_CLOEXEC) != 0) Fail("pipe", errno);
  const Image image{
      getpid(),         output.c_str(),     error_output.c_str(), options.working_directory.c_str(),
      arguments.data(), environment.data(), pipe_ends[1]};

  pid_ = fork();
  if (pid_ == 0) BecomeProgram(image);
  const int fork_error = errno;
  close(pipe_ends[1]);
  int child_error = 0;
  const bool failed =
      pid_ > 0 && read(pipe_ends[0], &child_error, sizeof child_error) == sizeof child_error;
  close(pipe_ends[0]);
  if (pid_ < 0) Fail("fork", fork_error);
  if (failed) {
    waitpid(pid_, nullptr, 0);
    Fail("cannot start " + command[0], child_error);
  }
  // Not pidfd_open(): glibc 2.36 declares it without extern "C".
  pid_descriptor_ = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
  if (pid_descriptor_ < 0) Fail("pidfd_open", errno);
}

ChildProcess::~ChildProcess() {
  Kill();
  close(pid_descriptor_);
}

void ChildProcess::Signal(int signal) {
  if (!end_) kill(pid_, signal);
}

void ChildProcess::Pause() {
  Signal(SIGSTOP);
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED | WEXITED | WNOWAIT) != 0 ||
      info.si_code != CLD_STOPPED) {
    throw std::runtime_error("the process to pause has ended");
  }
}

std::optional<ProcessEnd> ChildProcess::WaitForEnd(std::chrono::milliseconds limit) {
  if (end_) return end_;
  const auto until = std::chrono::steady_clock::now() + limit;
  pollfd ended{pid_descriptor_, POLLIN, 0};
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    const int count = poll(&ended, 1, static_cast<int>(std::max(left.count(), int64_t{0})));
    if (count > 0) break;
    if (count == 0) return std::nullopt;
    if (errno != EINTR) Fail("poll", errno);
  }
  int status = 0;
  if (waitpid(pid_, &status, 0) != pid_) Fail("waitpid", errno);
  end_ = WIFEXITED(status) ? ProcessEnd{WEXITSTATUS(status), 0}
                           : ProcessEnd{std::nullopt, WTERMSIG(status)};
  return end_;
}

void ChildProcess::Kill() {
  Signal(SIGKILL);
  if (!WaitForEnd(kKillLimit)) std::abort();  // Not even the kernel can end it.
}

}  // namespace lockkeeper::support
