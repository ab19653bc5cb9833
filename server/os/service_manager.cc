// SPDX-License-Identifier: Apache-2.0
#include "os/service_manager.h"

#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace lockkeeper::os {
namespace {

constexpr time_t kSendSeconds = 5;

std::string Take(const char* variable) {
  const char* const value = std::getenv(variable);
  std::string taken = value == nullptr ? "" : value;
  unsetenv(variable);
  return taken;
}

std::optional<int64_t> PositiveNumber(const std::string& text) {
  int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end || number <= 0) return std::nullopt;
  return number;
}

}  // namespace

ServiceEnvironment TakeServiceEnvironment() {
  return {.notify_socket = Take("NOTIFY_SOCKET"),
          .watchdog_usec = Take("WATCHDOG_USEC"),
          .watchdog_pid = Take("WATCHDOG_PID")};
}

ServiceManager::ServiceManager(const ServiceEnvironment& environment)
    : wants_news_(!environment.notify_socket.empty()) {
  if (!wants_news_) return;
  problem_ = Open(environment.notify_socket);
  if (!problem_) problem_ = ReadWatchdog(environment);
}

text::Problem ServiceManager::Open(const std::string& path) {
  const bool is_abstract = path.front() == '@';
  if (!is_abstract && path.front() != '/') {
    return "NOTIFY_SOCKET is " + text::Quoted(path) + ", and must begin with / or @";
  }
  if (path.size() >= sizeof(address_.sun_path)) {
    return "NOTIFY_SOCKET has " + std::to_string(path.size()) + " bytes, and may have " +
           std::to_string(sizeof(address_.sun_path) - 1);
  }
  address_.sun_family = AF_UNIX;
  std::memcpy(address_.sun_path, path.data(), path.size());
  if (is_abstract) address_.sun_path[0] = '\0';
  // An abstract name ends with the address, a path with a zero.
  address_size_ =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + (is_abstract ? 0 : 1));
  socket_ = Descriptor(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket_.valid()) return std::string("no socket: ") + std::strerror(errno);
  const timeval patience{.tv_sec = kSendSeconds, .tv_usec = 0};
  setsockopt(socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  return std::nullopt;
}

text::Problem ServiceManager::ReadWatchdog(const ServiceEnvironment& environment) {
  if (environment.watchdog_usec.empty()) return std::nullopt;
  if (!environment.watchdog_pid.empty()) {
    const auto pid = PositiveNumber(environment.watchdog_pid);
    if (!pid) {
      return "WATCHDOG_PID is " + text::Quoted(environment.watchdog_pid) + ", and no process id";
    }
    if (*pid != getpid()) return std::nullopt;
  }
  const auto microseconds = PositiveNumber(environment.watchdog_usec);
  if (!microseconds) {
    return "WATCHDOG_USEC is " + text::Quoted(environment.watchdog_usec) +
           ", and no number of microseconds";
  }
  watchdog_ = std::chrono::microseconds(*microseconds);
  return std::nullopt;
}

text::Problem ServiceManager::TellReady(std::string_view status) const {
  return Tell("READY=1\nSTATUS=" + std::string(status));
}

text::Problem ServiceManager::TellReloading() const { return Tell("RELOADING=1"); }

text::Problem ServiceManager::TellStopping(std::chrono::milliseconds limit) const {
  const auto microseconds = std::chrono::duration_cast<std::chrono::microseconds>(limit).count();
  return Tell("STOPPING=1\nEXTEND_TIMEOUT_USEC=" + std::to_string(microseconds));
}

void ServiceManager::KeepAlive() const {
  if (wants_news_ && !problem_) Send("WATCHDOG=1", MSG_DONTWAIT);
}

text::Problem ServiceManager::Tell(std::string_view news) const {
  if (!wants_news_ || problem_) return problem_;
  if (Send(news, 0)) return std::nullopt;
  return std::string("a message to NOTIFY_SOCKET could not be sent: ") + std::strerror(errno);
}

bool ServiceManager::Send(std::string_view news, int flags) const {
  ssize_t sent = -1;
  do {
    sent = sendto(socket_.get(), news.data(), news.size(), flags | MSG_NOSIGNAL,
                  reinterpret_cast<const sockaddr*>(&address_), address_size_);
  } while (sent < 0 && errno == EINTR);
  return sent >= 0;
}

}  // namespace lockkeeper::os
