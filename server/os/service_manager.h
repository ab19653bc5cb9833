// SPDX-License-Identifier: Apache-2.0
//
// What a service tells the service manager that started it: that it is ready, reloads, stops, and
// is not stuck. The protocol is that of sd_notify(3): datagrams to a unix socket, which the
// environment names. Spoken here, because it is one call of sendto, and libsystemd brings a dozen
// libraries into a daemon that often runs without systemd.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "os/descriptor.h"
#include "text/problem.h"

namespace lockkeeper::os {

// The variables NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID; empty if they are not set.
struct ServiceEnvironment {
  std::string notify_socket;
  std::string watchdog_usec;
  std::string watchdog_pid;
};

// Reads the variables and removes them from the environment, so that the children of this process
// do not speak for it. Requires: no other thread runs.
ServiceEnvironment TakeServiceEnvironment();

// Thread-safety: thread-safe.
class ServiceManager {
 public:
  explicit ServiceManager(const ServiceEnvironment& environment);

  // Whether a service manager wants to be told. If not, all calls do nothing.
  bool wants_news() const { return wants_news_; }

  // The service counts as stuck if it does not say KeepAlive for this long. Nothing if nobody
  // minds.
  std::optional<std::chrono::microseconds> watchdog() const { return watchdog_; }

  // Each waits up to 5 s for room in the socket, and returns a problem if the manager was not told,
  // or if the environment is malformed.
  // `status` is for people, one line.
  text::Problem TellReady(std::string_view status) const;
  // TellReady ends the reload.
  text::Problem TellReloading() const;
  // The service ends within `limit`; until then the manager does not kill it.
  text::Problem TellStopping(std::chrono::milliseconds limit) const;

  // Never blocks. Says nothing if the socket has no room: the next one will do.
  void KeepAlive() const;

 private:
  text::Problem Open(const std::string& path);
  text::Problem ReadWatchdog(const ServiceEnvironment& environment);
  text::Problem Tell(std::string_view news) const;
  bool Send(std::string_view news, int flags) const;

  bool wants_news_ = false;
  std::optional<std::chrono::microseconds> watchdog_;
  text::Problem problem_;
  Descriptor socket_;
  sockaddr_un address_{};
  socklen_t address_size_ = 0;
};

}  // namespace lockkeeper::os
