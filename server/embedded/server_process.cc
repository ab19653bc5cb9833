// SPDX-License-Identifier: Apache-2.0
#include "embedded/server_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/errors.h"

namespace lockkeeper::embedded {
namespace {

constexpr int kFirstOfOurDescriptors = 3;
constexpr mode_t kPrivateFiles = 077;
constexpr timeval kPingLimit{0, 500'000};

// All that the child needs, prepared before the fork: between fork and exec it may neither allocate
// nor lock.
struct Image {
  pid_t parent;
  const ServerCommand& command;
  char* const* arguments;
  int failure_pipe;
};

[[noreturn]] void BecomeServer(const Image& image) {
  const auto fail = [&image] {
    const int error = errno;
    if (write(image.failure_pipe, &error, sizeof error) < 0) _exit(126);
    _exit(127);
  };
  const ServerCommand& command = image.command;
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) fail();
  if (getppid() != image.parent) _exit(127);  // The daemon died before the line above.
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  setsid();  // Keeps Ctrl-C from the server, which the daemon needs until it has drained.
  umask(kPrivateFiles);
  const int input = open("/dev/null", O_RDONLY);
  const int log = open(command.log_file.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (input < 0 || log < 0 || dup2(input, 0) < 0 || dup2(log, 1) < 0 || dup2(log, 2) < 0) fail();
  if (chdir(command.working_directory.c_str()) != 0) fail();
  // Closes descriptors that the daemon's libraries have opened. Kernels before 5.11 lack this call;
  // then the server may inherit some, which does no harm.
  close_range(kFirstOfOurDescriptors, ~0U, CLOSE_RANGE_CLOEXEC);
  if (fcntl(command.inherited_descriptor, F_SETFD, 0) != 0) fail();
  execv(command.program.c_str(), image.arguments);
  fail();
  _exit(127);
}

absl::Status StartError(const std::string& what, int error) {
  return core::Error(core::ErrorReason::kStoreUnavailable,
                     what + ": " + std::generic_category().message(error));
}

}  // namespace

absl::StatusOr<ServerProcess> ServerProcess::Start(const ServerCommand& command) {
  std::string program = command.program;
  std::string settings = command.settings_file;
  char* const arguments[] = {program.data(), settings.data(), nullptr};
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return StartError("pipe", errno);
  const os::Descriptor read_end(ends[0]);
  os::Descriptor write_end(ends[1]);
  const Image image{getpid(), command, arguments, write_end.get()};

  const pid_t pid = fork();
  if (pid == 0) BecomeServer(image);
  if (pid < 0) return StartError("fork", errno);
  write_end = os::Descriptor();
  // The read ends at the exec, or returns the error of a failed exec.
  int error = 0;
  if (read(read_end.get(), &error, sizeof error) == sizeof error) {
    waitpid(pid, nullptr, 0);
    return StartError("cannot start " + command.program, error);
  }
  // Not pidfd_open(): glibc 2.36 declares it without extern "C".
  os::Descriptor process(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  ServerProcess server(pid, std::move(process), command.socket_path);
  if (!server.process_.valid()) return StartError("pidfd_open", errno);
  return server;
}

ServerProcess::ServerProcess(pid_t pid, os::Descriptor process, std::string socket_path)
    : pid_(pid), process_(std::move(process)), socket_path_(std::move(socket_path)) {}

ServerProcess::ServerProcess(ServerProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      process_(std::move(other.process_)),
      socket_path_(std::move(other.socket_path_)),
      status_(other.status_) {}

ServerProcess::~ServerProcess() {
  if (pid_ < 0 || status_) return;
  kill(pid_, SIGKILL);
  Reap();
}

void ServerProcess::Reap() {
  int status = 0;
  waitpid(pid_, &status, 0);
  status_ = status;
}

ServerProcess::Event ServerProcess::Wait(int interrupt, core::Millis limit) {
  pollfd watched[] = {{process_.get(), POLLIN, 0}, {interrupt, POLLIN, 0}};
  const int count = poll(watched, std::size(watched), static_cast<int>(limit.count()));
  if (count > 0 && watched[0].revents != 0) {
    Reap();
    return Event::kEnded;
  }
  return count > 0 ? Event::kInterrupted : Event::kTimeOver;
}

std::string ServerProcess::HowItEnded() const {
  const int status = *status_;
  if (WIFEXITED(status)) return "ended with exit code " + std::to_string(WEXITSTATUS(status));
  const int signal = WTERMSIG(status);
  return "was killed by signal " + std::to_string(signal) + " (" + strsignal(signal) + ")";
}

ServerProcess::Answer ServerProcess::Ping() const {
  const os::Descriptor socket_end(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket_end.valid()) return Answer::kNone;
  setsockopt(socket_end.get(), SOL_SOCKET, SO_RCVTIMEO, &kPingLimit, sizeof kPingLimit);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, socket_path_.data(), socket_path_.size());
  if (connect(socket_end.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return Answer::kNone;
  }
  constexpr std::string_view kPing = "PING\r\n";
  if (send(socket_end.get(), kPing.data(), kPing.size(), MSG_NOSIGNAL) < 0) return Answer::kNone;
  char buffer[64];
  const ssize_t length = recv(socket_end.get(), buffer, sizeof buffer, 0);
  if (length <= 0) return Answer::kNone;
  const std::string_view answer(buffer, static_cast<size_t>(length));
  if (answer.starts_with("+PONG")) return Answer::kReady;
  return answer.starts_with("-LOADING") ? Answer::kLoading : Answer::kNone;
}

void ServerProcess::Stop(core::Millis patience) {
  if (status_) return;
  kill(pid_, SIGTERM);
  if (Wait(-1, patience) == Event::kEnded) return;
  kill(pid_, SIGKILL);
  Reap();
}

}  // namespace lockkeeper::embedded
