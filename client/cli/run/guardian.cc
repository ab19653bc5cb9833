// SPDX-License-Identifier: Apache-2.0
#include "cli/run/guardian.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>

#include "renewal/boot_clock.h"

namespace lockkeeper::cli {
namespace {

// How often the guardian checks a group that it is stopping. The members need not be our children,
// so there is no notice of their end.
constexpr Duration kGroupLook = std::chrono::milliseconds(5);

// How long the guardian waits for a killed group: a process in a system call can take a while.
constexpr Duration kKilledWait = std::chrono::seconds(2);

Instant Now() { return client::BootClock().Now(); }

os::Descriptor ChildSignals() {
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  return os::Descriptor(signalfd(-1, &child, SFD_NONBLOCK | SFD_CLOEXEC));
}

void Drain(int fd) {
  std::array<char, 1024> bytes{};
  while (read(fd, bytes.data(), bytes.size()) > 0) {
  }
}

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{-1, -1};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) return;
    read = os::Descriptor(ends[0]);
    write = os::Descriptor(ends[1]);
  }

  bool valid() const { return read.valid(); }

  os::Descriptor read;
  os::Descriptor write;
};

// The guardian must not keep the command's input and output open.
void LetGoOfStandardDescriptors() {
  const os::Descriptor null(open("/dev/null", O_RDWR | O_CLOEXEC));
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(null.get(), fd);
}

}  // namespace

Guardian::Guardian(const GuardianSetup& setup, os::Descriptor socket)
    : setup_(setup),
      socket_(std::move(socket)),
      children_(ChildSignals()),
      timer_(timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC)),
      plan_(setup.grace) {}

void Guardian::Run() {
  while (!is_done_) {
    std::array<pollfd, 3> fds{
        {{socket_.get(), POLLIN, 0}, {children_.get(), POLLIN, 0}, {timer_.get(), POLLIN, 0}}};
    if (poll(fds.data(), fds.size(), -1) < 0 && errno != EINTR) return OnRunGone();
    if (fds[2].revents != 0) OnTime();
    if (fds[1].revents != 0) OnChildren();
    if (fds[0].revents == 0) continue;
    Order order;
    const ssize_t got = recv(socket_.get(), &order, sizeof(order), MSG_DONTWAIT);
    if (got == sizeof(order)) {
      OnOrder(order);
    } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
      return OnRunGone();
    }
  }
}

void Guardian::OnOrder(const Order& order) {
  switch (order.kind) {
    case Order::Kind::kStart:
      plan_.SetTimes(order.times);
      Start(order);
      break;
    case Order::Kind::kTimes:
      plan_.SetTimes(order.times);
      break;
    case Order::Kind::kSignal:
      if (command_ != 0 && !is_reaped_) kill(order.to_group ? -command_ : command_, order.signal);
      break;
    case Order::Kind::kContinue:
      CarryOutPlan();  // The time may have come while everything was stopped.
      SignalGroup(SIGCONT);
      break;
    case Order::Kind::kStop:
      if (!is_reaped_) stopped_for_lease_ = true;
      plan_.StopNow(Now());
      break;
  }
  CarryOutPlan();
}

void Guardian::OnRunGone() {
  if (command_ == 0) return;
  SignalGroup(SIGKILL);
  const Instant give_up_at = Now() + kKilledWait;
  while (kill(-command_, 0) == 0 && Now() < give_up_at) {
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    poll(nullptr, 0, 1);
  }
}

void Guardian::OnChildren() {
  Drain(children_.get());
  int status = 0;
  for (pid_t pid = 0; (pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0;) {
    if (pid != command_) continue;  // An orphan of the command has ended.
    if (WIFSTOPPED(status)) {
      if (!plan_.is_stopping()) Tell({.kind = Notice::Kind::kStopped});
      continue;
    }
    is_reaped_ = true;
    wait_status_ = status;
  }
  if (is_reaped_) LookAtGroup();
}

void Guardian::OnTime() {
  Drain(timer_.get());
  CarryOutPlan();
  if (is_reaped_) LookAtGroup();
}

void Guardian::CarryOutPlan() {
  if (command_ == 0) return;
  while (true) {
    const StopPlan::Action action = plan_.TakeDue(Now());
    if (action == StopPlan::Action::kNothing) break;
    if (!is_reaped_) stopped_for_lease_ = true;
    if (action == StopPlan::Action::kTerminate) {
      SignalGroup(SIGTERM);
      SignalGroup(SIGCONT);  // A stopped group could not handle SIGTERM.
    } else {
      SignalGroup(SIGKILL);
      give_up_at_ = Now() + kKilledWait;
    }
  }
  SetTimer();
}

void Guardian::LookAtGroup() {
  if (is_done_) return;
  const bool is_gone = kill(-command_, 0) != 0 && errno == ESRCH;
  if (is_gone || Now() >= give_up_at_) {
    is_done_ = true;
    Tell({.kind = Notice::Kind::kEnded,
          .wait_status = wait_status_,
          .for_lease = stopped_for_lease_});
    return;
  }
  plan_.StopNow(Now());
  CarryOutPlan();
}

void Guardian::SetTimer() {
  std::optional<Instant> at = plan_.NextAt();
  if (is_reaped_) at = Now() + kGroupLook;
  itimerspec spec{};
  if (at) {
    const auto since = std::max(at->time_since_epoch(), Duration(1));
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since);
    spec.it_value.tv_sec = seconds.count();
    spec.it_value.tv_nsec = (since - seconds).count();
  }
  timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &spec, nullptr);
}

void Guardian::SignalGroup(int signal) {
  if (command_ != 0) kill(-command_, signal);
}

void Guardian::Tell(const Notice& notice) {
  // If run is gone, the closed socket shows it.
  send(socket_.get(), &notice, sizeof(notice), MSG_NOSIGNAL);
}

void Guardian::Start(const Order& order) {
  Pipe go;
  Pipe failure;
  const pid_t guardian = getpid();
  const pid_t pid = go.valid() && failure.valid() ? fork() : -1;
  if (pid == 0) {
    go.write = os::Descriptor();
    BecomeCommand(order, guardian, go.read.get(), failure.write.get());
  }
  int error = errno;
  go.read = os::Descriptor();
  failure.write = os::Descriptor();
  if (pid > 0) {
    setpgid(pid, pid);  // The child does the same; the first of the two wins.
    // run must know the group before the command starts, because run kills the group if the
    // guardian is killed.
    Tell({.kind = Notice::Kind::kStarted, .pid = pid});
    const char said = 'g';
    const bool is_sent = write(go.write.get(), &said, sizeof(said)) == sizeof(said);
    // If the write failed, which cannot happen to an empty pipe, the child exits.
    if (!is_sent) go.write = os::Descriptor();
    // The pipe is closed by exec, or carries an error.
    if (read(failure.read.get(), &error, sizeof(error)) != sizeof(error)) error = 0;
    if (error != 0) waitpid(pid, nullptr, 0);
  }
  if (error != 0 || pid < 0) {
    Tell({.kind = Notice::Kind::kNotStarted, .error = error});
    is_done_ = true;
    return;
  }
  command_ = pid;
  LetGoOfStandardDescriptors();
}

void Guardian::BecomeCommand(const Order& order, pid_t guardian, int go, int failure) {
  setpgid(0, 0);
  if (order.in_foreground) tcsetpgrp(setup_.terminal, getpid());
  // If the guardian is killed, the kernel kills the command, and run kills the rest of the group.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  char said = 0;
  // The pipe is closed without a byte if the guardian is killed before it has notified run.
  if (getppid() != guardian || read(go, &said, sizeof(said)) != sizeof(said)) _exit(125);
  setenv("LOCKKEEPER_LOCK", setup_.lock_name.c_str(), 1);
  setenv("LOCKKEEPER_LEASE_ID", order.lease_id.data(), 1);
  setenv("LOCKKEEPER_FENCING_TOKEN", std::to_string(order.fencing_token).c_str(), 1);
  std::vector<char*> words;
  words.reserve(setup_.command.size() + 1);
  for (const std::string& word : setup_.command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  sigprocmask(SIG_SETMASK, &setup_.signal_mask, nullptr);
  execvp(words[0], words.data());
  const int error = errno;
  const ssize_t written = write(failure, &error, sizeof(error));
  _exit(written == sizeof(error) ? 126 : 125);
}

}  // namespace lockkeeper::cli
