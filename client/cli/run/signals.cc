// SPDX-License-Identifier: Apache-2.0
#include "cli/run/signals.h"

#include <sys/signalfd.h>

#include <cerrno>
#include <system_error>

namespace lockkeeper::cli {
namespace {

constexpr int kPassedOn[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH};

bool IsIgnored(int signal) {
  struct sigaction action{};
  sigaction(signal, nullptr, &action);
  return action.sa_handler == SIG_IGN;
}

}  // namespace

bool IsForGroup(int signal) { return signal != SIGUSR1 && signal != SIGUSR2; }

SignalQueue::SignalQueue() {
  sigset_t taken;
  sigemptyset(&taken);
  sigaddset(&taken, SIGCONT);
  for (const int signal : kPassedOn) {
    // Under nohup, say, the command ignores it as well.
    if (!IsIgnored(signal)) sigaddset(&taken, signal);
  }
  sigset_t blocked = taken;
  sigaddset(&blocked, SIGTTOU);
  sigprocmask(SIG_BLOCK, &blocked, nullptr);
  signal(SIGPIPE, SIG_IGN);
  descriptor_ = Descriptor(signalfd(-1, &taken, SFD_NONBLOCK | SFD_CLOEXEC));
  if (!descriptor_.is_open()) throw std::system_error(errno, std::generic_category(), "signalfd");
}

std::optional<int> SignalQueue::Take() {
  signalfd_siginfo info{};
  if (read(descriptor_.get(), &info, sizeof(info)) != sizeof(info)) return std::nullopt;
  return static_cast<int>(info.ssi_signo);
}

sigset_t CurrentSignalMask() {
  sigset_t mask;
  sigprocmask(SIG_SETMASK, nullptr, &mask);
  return mask;
}

}  // namespace lockkeeper::cli
