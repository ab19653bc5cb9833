// SPDX-License-Identifier: Apache-2.0
#include "daemon/signals.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>

namespace lockkeeper::daemon {
namespace {

int MakeDescriptor(Hangup hangup) {
  signal(SIGPIPE, SIG_IGN);
  sigset_t wanted;
  sigemptyset(&wanted);
  sigaddset(&wanted, SIGTERM);
  sigaddset(&wanted, SIGINT);
  if (hangup == Hangup::kIsReturned) sigaddset(&wanted, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &wanted, nullptr);
  const int descriptor = signalfd(-1, &wanted, SFD_CLOEXEC);
  if (descriptor < 0) std::abort();
  return descriptor;
}

}  // namespace

Signals::Signals(Hangup hangup) : descriptor_(MakeDescriptor(hangup)) {}

Signals::~Signals() { close(descriptor_); }

std::optional<int> Signals::Wait(int event) {
  pollfd descriptors[] = {{descriptor_, POLLIN, 0}, {event, POLLIN, 0}};
  while (poll(descriptors, 2, -1) < 0) {
    if (errno != EINTR) std::abort();
  }
  if ((descriptors[0].revents & POLLIN) == 0) return std::nullopt;
  signalfd_siginfo info{};
  if (read(descriptor_, &info, sizeof(info)) != ssize_t{sizeof(info)}) std::abort();
  return static_cast<int>(info.ssi_signo);
}

const char* NameOfSignal(int signal) { return signal == SIGINT ? "SIGINT" : "SIGTERM"; }

}  // namespace lockkeeper::daemon
