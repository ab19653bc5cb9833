// SPDX-License-Identifier: Apache-2.0
#include "listen/accept_loop.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <utility>

namespace lockkeeper::listen {
namespace {

constexpr core::Millis kShortagePause{100};

bool IsShortage(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

}  // namespace

AcceptLoop::AcceptLoop(const std::string& thread_name, std::vector<os::Descriptor> listening,
                       int wake, AcceptHandlers handlers, const core::Clock& clock)
    : listening_(std::move(listening)),
      wake_(wake),
      handlers_(std::move(handlers)),
      clock_(clock),
      stop_(eventfd(0, EFD_CLOEXEC)),
      thread_([this, thread_name] {
        pthread_setname_np(pthread_self(), thread_name.c_str());
        while (Turn()) {
        }
      }) {}

AcceptLoop::~AcceptLoop() {
  // It fails only if the counter is at its end, and then it is not 0 either.
  [[maybe_unused]] const int written = eventfd_write(stop_.get(), 1);
  thread_.join();
}

bool AcceptLoop::Turn() {
  core::Millis time_max = handlers_.before_wait();
  std::vector<pollfd> waiting = {{.fd = stop_.get(), .events = POLLIN, .revents = 0},
                                 {.fd = wake_, .events = POLLIN, .revents = 0}};
  const size_t first_listening = waiting.size();
  const core::Instant now = clock_.Now();
  if (now >= accept_from_) {
    for (const os::Descriptor& socket : listening_) {
      waiting.push_back({.fd = socket.get(), .events = POLLIN, .revents = 0});
    }
  } else {
    const auto pause = std::chrono::ceil<core::Millis>(accept_from_ - now);
    if (time_max.count() < 0 || pause < time_max) time_max = pause;
  }
  poll(waiting.data(), waiting.size(), static_cast<int>(time_max.count()));
  if (waiting.front().revents != 0) return false;
  for (size_t i = first_listening; i < waiting.size(); ++i) {
    if (waiting[i].revents != 0) AcceptFrom(i - first_listening);
  }
  return true;
}

void AcceptLoop::AcceptFrom(size_t listening) {
  os::Descriptor socket(
      accept4(listening_[listening].get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (socket.valid()) {
    handlers_.on_connection(std::move(socket), listening);
  } else if (const int error = errno; IsShortage(error)) {  // Else only that client has failed.
    Pause(kShortagePause);
    if (handlers_.on_shortage) handlers_.on_shortage(error);
  }
}

}  // namespace lockkeeper::listen
