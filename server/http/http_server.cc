// SPDX-License-Identifier: Apache-2.0
#include "http/http_server.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <list>
#include <thread>
#include <utility>
#include <vector>

#include "http/connection.h"
#include "http/endpoints.h"
#include "listen/listener.h"
#include "telemetry/log_fields.h"

namespace lockkeeper::http {
namespace {

// Pause after the system had no descriptor or memory for a new connection.
constexpr core::Millis kAcceptPause{100};

bool IsShortage(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

}  // namespace

// Owned by the server; all but its construction and `stop_` belong to its thread.
class HttpServer::Loop {
 public:
  Loop(HttpServerOptions options, HttpServerDeps deps, listen::Listener listener)
      : options_(std::move(options)),
        deps_(deps),
        listener_(std::move(listener)),
        handler_([this](const std::string& path) {
          return PageOf(path, deps_.health, deps_.metrics, deps_.clock.Now());
        }),
        stop_(eventfd(0, EFD_CLOEXEC)),
        thread_([this] { Run(); }) {}

  ~Loop() {
    // It fails only if the counter is at its end, and then it is not 0 either.
    [[maybe_unused]] const int written = eventfd_write(stop_.get(), 1);
    thread_.join();
  }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  const config::ListenAddress& address() const { return listener_.address; }

 private:
  void Run() {
    pthread_setname_np(pthread_self(), "http");
    while (true) {
      const std::vector<pollfd> ready = Wait();
      if (ready[0].revents != 0) return;  // stop_
      const size_t first_connection = ready.size() - connections_.size();
      size_t next = first_connection;
      for (Connection& connection : connections_) {
        if (ready[next++].revents != 0) connection.Continue();
      }
      DropEnded();
      for (size_t i = 1; i < first_connection; ++i) {
        if (ready[i].revents != 0) AcceptFrom(ready[i].fd);
      }
    }
  }

  // Waits until something can be done: stop_, then the listeners unless they pause, then the
  // connections in their order.
  std::vector<pollfd> Wait() {
    const core::Instant now = deps_.clock.Now();
    std::vector<pollfd> waiting = {{.fd = stop_.get(), .events = POLLIN, .revents = 0}};
    core::Instant wake = core::Instant::max();
    if (now >= accept_from_) {
      for (const os::Descriptor& socket : listener_.sockets) {
        waiting.push_back({.fd = socket.get(), .events = POLLIN, .revents = 0});
      }
    } else {
      wake = accept_from_;
    }
    for (const Connection& connection : connections_) {
      const short events = connection.wants_to_write() ? POLLOUT : POLLIN;
      waiting.push_back({.fd = connection.fd(), .events = events, .revents = 0});
    }
    // All have the same time, so the oldest is the first to end.
    if (!connections_.empty()) wake = std::min(wake, connections_.front().deadline());
    poll(waiting.data(), waiting.size(), TimeoutUntil(wake, now));
    return waiting;
  }

  // In milliseconds, rounded up; -1 is for ever.
  static int TimeoutUntil(core::Instant wake, core::Instant now) {
    if (wake == core::Instant::max()) return -1;
    const auto left = std::chrono::ceil<core::Millis>(wake - now).count();
    return static_cast<int>(std::max<int64_t>(left, 0));
  }

  void DropEnded() {
    const core::Instant now = deps_.clock.Now();
    std::erase_if(connections_, [now](const Connection& connection) {
      return connection.done() || connection.deadline() <= now;
    });
  }

  void AcceptFrom(int listening) {
    os::Descriptor socket(accept4(listening, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket.valid()) {
      // Anything else concerns the one client that was to be accepted.
      if (IsShortage(errno)) PauseAccepting(errno);
      return;
    }
    if (connections_.size() >= options_.connections_max) connections_.pop_front();
    connections_.emplace_back(std::move(socket), handler_,
                              deps_.clock.Now() + options_.connection_time_max);
  }

  void PauseAccepting(int error) {
    accept_from_ = deps_.clock.Now() + kAcceptPause;
    if (!connections_.empty()) connections_.pop_front();
    deps_.logger.WriteLimited(shortage_limit_, telemetry::LogLevel::kWarn, "http.shortage",
                              "A connection could not be accepted",
                              {telemetry::field::Problem(std::strerror(error))});
  }

  const HttpServerOptions options_;
  const HttpServerDeps deps_;
  const listen::Listener listener_;
  RequestHandler handler_;
  std::list<Connection> connections_;  // The oldest first.
  core::Instant accept_from_ = core::Instant::min();
  telemetry::LogLimit shortage_limit_;

  const os::Descriptor stop_;
  std::thread thread_;  // Last: it uses all of the above.
};

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(HttpServerOptions options,
                                                              HttpServerDeps deps) {
  absl::StatusOr<listen::Listener> listener = listen::Listen(options.listen);
  if (!listener.ok()) return listener.status();
  return std::unique_ptr<HttpServer>(
      new HttpServer(std::make_unique<Loop>(std::move(options), deps, *std::move(listener))));
}

HttpServer::HttpServer(std::unique_ptr<Loop> loop) : loop_(std::move(loop)) {}

HttpServer::~HttpServer() = default;

const config::ListenAddress& HttpServer::address() const { return loop_->address(); }

}  // namespace lockkeeper::http
