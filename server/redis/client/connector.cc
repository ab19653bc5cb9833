// SPDX-License-Identifier: Apache-2.0
#include "redis/client/connector.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace lockkeeper::redis {
namespace {

// The kernel's own search for a peer that is gone; the connection's probe is quicker.
constexpr int kKeepAliveIdleSeconds = 15;
constexpr int kKeepAliveIntervalSeconds = 5;
constexpr int kKeepAliveProbes = 3;

loop::SocketAddress UnixAddress(const std::string& path) {
  loop::SocketAddress address;
  auto* unix_address = reinterpret_cast<sockaddr_un*>(&address.storage);
  unix_address->sun_family = AF_UNIX;
  std::memcpy(unix_address->sun_path, path.data(), path.size());
  address.length = sizeof *unix_address;
  return address;
}

void SetOption(int socket, int level, int name, int value) {
  setsockopt(socket, level, name, &value, sizeof value);  // At worst it is slower or less watchful.
}

void SetTcpOptions(int socket, core::Millis unacknowledged_max) {
  SetOption(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  SetOption(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  SetOption(socket, IPPROTO_TCP, TCP_KEEPIDLE, kKeepAliveIdleSeconds);
  SetOption(socket, IPPROTO_TCP, TCP_KEEPINTVL, kKeepAliveIntervalSeconds);
  SetOption(socket, IPPROTO_TCP, TCP_KEEPCNT, kKeepAliveProbes);
  SetOption(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(unacknowledged_max.count()));
}

// A connect to a port of our own machine that nobody listens on can meet itself, if the kernel
// gives our end the same port: we would talk to our own echo, and keep the server from its port.
bool IsConnectedToItself(int socket) {
  sockaddr_storage ours{};
  sockaddr_storage theirs{};
  socklen_t our_length = sizeof ours;
  socklen_t their_length = sizeof theirs;
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&ours), &our_length) != 0) return false;
  if (ours.ss_family == AF_UNIX) return false;
  if (getpeername(socket, reinterpret_cast<sockaddr*>(&theirs), &their_length) != 0) return false;
  return our_length == their_length && std::memcmp(&ours, &theirs, our_length) == 0;
}

}  // namespace

Connector::Connector(loop::EventLoop& loop, const RedisUrl& url, ConnectorOptions options,
                     Done done)
    : loop_(loop),
      url_(url),
      options_(options),
      deadline_(loop.Now() + options.connect_timeout),
      done_(std::move(done)) {
  timer_ = loop_.After(options_.connect_timeout, [this] { OnTimeout(); });
  if (url_.socket_path.empty()) {
    resolver_ = std::make_unique<loop::Resolver>(
        loop_, url_.host, url_.port,
        [this](loop::Resolved resolved) { OnResolved(std::move(resolved)); });
    return;
  }
  addresses_.push_back(UnixAddress(url_.socket_path));
  timer_ = loop_.After(core::Micros(0), [this] { TryNext(); });
}

Connector::~Connector() = default;

void Connector::OnResolved(loop::Resolved resolved) {
  resolver_.reset();
  if (const auto* problem = std::get_if<std::string>(&resolved)) {
    return Finish("resolve " + url_.host + ": " + *problem);
  }
  addresses_ = std::get<std::vector<loop::SocketAddress>>(std::move(resolved));
  TryNext();
}

void Connector::TryNext() {
  if (next_address_ == addresses_.size()) {
    if (last_problem_.empty()) last_problem_ = "resolve " + url_.host + ": it has no address";
    return Finish(std::exchange(last_problem_, ""));
  }
  const loop::SocketAddress& address = addresses_[next_address_++];
  const auto share =
      (deadline_ - loop_.Now()) / static_cast<int64_t>(addresses_.size() - next_address_ + 1);
  timer_ = loop_.After(std::chrono::duration_cast<core::Micros>(share), [this] { OnTimeout(); });
  socket_ = os::Descriptor(
      socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket_.valid()) return OnFailed(errno);
  if (address.storage.ss_family != AF_UNIX) {
    SetTcpOptions(socket_.get(), options_.unacknowledged_max);
  }
  const auto* generic = reinterpret_cast<const sockaddr*>(&address.storage);
  if (connect(socket_.get(), generic, address.length) != 0 && errno != EINPROGRESS) {
    return OnFailed(errno);
  }
  // Also if it is connected already: one path for all.
  watcher_ = std::make_unique<loop::SocketWatcher>(loop_, socket_.get(),
                                                   [this](loop::SocketEvents) { OnWritable(); });
  watcher_->Watch(loop::SocketInterest::kWrite);
}

void Connector::OnWritable() {
  int error = 0;
  socklen_t length = sizeof error;
  if (getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &length) != 0) error = errno;
  if (error == 0 && IsConnectedToItself(socket_.get())) error = ECONNREFUSED;
  if (error != 0) return OnFailed(error);
  watcher_.reset();
  Finish(std::move(socket_));
}

void Connector::OnTimeout() {
  if (addresses_.empty()) return Finish("resolve " + url_.host + ": no answer in time");
  OnFailed(ETIMEDOUT);
}

void Connector::OnFailed(int error) {
  watcher_.reset();
  socket_ = os::Descriptor();
  last_problem_ = "connect to " + NameOf(addresses_[next_address_ - 1]) + ": " +
                  std::generic_category().message(error);
  TryNext();
}

// The address, with the name that it stands for.
std::string Connector::NameOf(const loop::SocketAddress& address) const {
  const std::string text = address.Text();
  return text == url_.Address() ? text : url_.host + " (" + text + ")";
}

void Connector::Finish(Connected result) {
  timer_.reset();
  Done done = std::move(done_);
  std::move(done)(std::move(result));
}

}  // namespace lockkeeper::redis
