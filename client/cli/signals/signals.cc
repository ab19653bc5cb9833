// SPDX-License-Identifier: Apache-2.0
#include "cli/signals/signals.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace lockkeeper::cli {
namespace {

bool IsIgnored(int signal) {
  struct sigaction action{};
  sigaction(signal, nullptr, &action);
  return action.sa_handler == SIG_IGN;
}

}  // namespace

SignalQueue::SignalQueue(std::initializer_list<int> signals) {
  sigemptyset(&taken_);
  for (const int signal : signals) {
    if (!IsIgnored(signal)) sigaddset(&taken_, signal);
  }
  sigprocmask(SIG_BLOCK, &taken_, nullptr);
  descriptor_ = os::Descriptor(signalfd(-1, &taken_, SFD_NONBLOCK | SFD_CLOEXEC));
  if (!descriptor_.valid()) throw std::system_error(errno, std::generic_category(), "signalfd");
}

std::optional<int> SignalQueue::Take() {
  signalfd_siginfo info{};
  if (read(descriptor_.get(), &info, sizeof(info)) != sizeof(info)) return std::nullopt;
  return static_cast<int>(info.ssi_signo);
}

void SignalQueue::LetThrough() { sigprocmask(SIG_UNBLOCK, &taken_, nullptr); }

sigset_t CurrentSignalMask() {
  sigset_t mask;
  sigprocmask(SIG_SETMASK, nullptr, &mask);
  return mask;
}

}  // namespace lockkeeper::cli
