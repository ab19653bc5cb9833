// SPDX-License-Identifier: Apache-2.0
#include "support/process/connection_gate.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <system_error>
#include <utility>

namespace lockkeeper::support {
namespace {

int NewSocket() {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) throw std::system_error(errno, std::generic_category(), "socket");
  return fd;
}

sockaddr_un AddressOf(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(static_cast<char*>(address.sun_path), sizeof(address.sun_path) - 1);
  return address;
}

int Listen(const std::string& path) {
  const int fd = NewSocket();
  const sockaddr_un address = AddressOf(path);
  if (bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      listen(fd, SOMAXCONN) != 0) {
    throw std::system_error(errno, std::generic_category(), "listen");
  }
  return fd;
}

bool Connect(int fd, const std::string& path) {
  const sockaddr_un address = AddressOf(path);
  return connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
}

bool WriteAll(int fd, const char* data, size_t size) {
  while (size > 0) {
    const ssize_t written = send(fd, data, size, MSG_NOSIGNAL);
    if (written <= 0) return false;
    data += written;
    size -= static_cast<size_t>(written);
  }
  return true;
}

bool ReadAll(int fd, char* data, size_t size) {
  while (size > 0) {
    const ssize_t got = read(fd, data, size);
    if (got <= 0) return false;
    data += got;
    size -= static_cast<size_t>(got);
  }
  return true;
}

// Frames of HTTP/2: 3 bytes of length, type, flags, 4 bytes of stream; then the payload.
using namespace std::string_view_literals;
constexpr auto kSettings = "\0\0\0\4\0\0\0\0\0"sv;
constexpr auto kGoaway =
    "\0\0\10\7\0\0\0\0\0"
    "\0\0\0\0\0\0\0\0"sv;  // The last stream is 0. No error.

// Reads what a client says first, and its frames, until the first one of a call. False if it
// closes.
bool ReadUntilCall(int fd) {
  constexpr char kHeaders = 1;
  std::array<char, 24> greeting{};
  if (!ReadAll(fd, greeting.data(), greeting.size())) return false;
  while (true) {
    std::array<unsigned char, 9> head{};
    if (!ReadAll(fd, reinterpret_cast<char*>(head.data()), head.size())) return false;
    std::string payload((head[0] << 16) + (head[1] << 8) + head[2], '\0');
    if (!ReadAll(fd, payload.data(), payload.size())) return false;
    if (head[3] == kHeaders) return true;
  }
}

}  // namespace

ConnectionGate::ConnectionGate(std::string target)
    : target_(std::move(target)), listener_(Listen(path_)), accepting_([this] { Accept(); }) {}

ConnectionGate::~ConnectionGate() {
  shutdown(listener_, SHUT_RDWR);
  accepting_.join();
  Cut();
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  closed_.notify_all();
  for (Connection& connection : connections_) End(connection);
  close(listener_);
}

void ConnectionGate::Accept() {
  while (true) {
    const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) return;
    if (turning_away_.exchange(false)) {
      const std::lock_guard lock(mutex_);
      Connection& connection = connections_.emplace_back();
      connection.client = client;
      connection.passing = 1;
      connection.up = std::thread([&connection] { TurnAway(connection); });
      continue;
    }
    const int service = NewSocket();
    if (!Connect(service, target_)) {
      close(client);
      close(service);
      continue;
    }
    const std::lock_guard lock(mutex_);
    Reap();
    ++passed_on_;
    Connection& connection = connections_.emplace_back();
    connection.client = client;
    connection.service = service;
    connection.up = std::thread([this, &connection, client, service] {
      Pass(connection, client, service, connection.requests_lost);
    });
    connection.down = std::thread([this, &connection, client, service] {
      Pass(connection, service, client, connection.replies_lost);
    });
  }
}

void ConnectionGate::TurnAway(Connection& connection) {
  if (WriteAll(connection.client, kSettings.data(), kSettings.size()) &&
      ReadUntilCall(connection.client)) {
    WriteAll(connection.client, kGoaway.data(), kGoaway.size());
    std::array<char, 1024> data{};  // Until the client has read what was written, and closes.
    while (read(connection.client, data.data(), data.size()) > 0) continue;
  }
  shutdown(connection.client, SHUT_RDWR);
  --connection.passing;
}

void ConnectionGate::Pass(Connection& connection, int from, int to, const std::atomic<bool>& lost) {
  std::array<char, 16 * 1024> data{};
  bool taken = true;  // False: who reads has gone. What it said before still comes through.
  while (true) {
    const ssize_t size = read(from, data.data(), data.size());
    if (size <= 0) break;
    WaitForDelay();
    if (!lost && taken) taken = WriteAll(to, data.data(), static_cast<size_t>(size));
  }
  // As in a network: that nothing more comes, one side learns after all that did come, and when it
  // reads. Until then it may write. On a unix socket without a gate it could not.
  if (!lost) shutdown(to, SHUT_WR);
  --connection.passing;
}

void ConnectionGate::WaitForDelay() {
  const std::chrono::milliseconds delay = delay_;
  if (delay == std::chrono::milliseconds::zero()) return;
  std::unique_lock lock(mutex_);
  closed_.wait_for(lock, delay, [this] { return closing_; });
}

void ConnectionGate::Reap() {
  connections_.remove_if([](Connection& connection) {
    if (connection.passing > 0) return false;
    End(connection);
    return true;
  });
}

void ConnectionGate::End(Connection& connection) {
  connection.up.join();
  if (connection.down.joinable()) connection.down.join();
  close(connection.client);
  if (connection.service >= 0) close(connection.service);
}

void ConnectionGate::Hold() {
  const std::lock_guard lock(mutex_);
  for (Connection& connection : connections_) {
    connection.requests_lost = true;
    connection.replies_lost = true;
  }
}

void ConnectionGate::LoseReplies() {
  const std::lock_guard lock(mutex_);
  for (Connection& connection : connections_) connection.replies_lost = true;
}

void ConnectionGate::Cut() {
  const std::lock_guard lock(mutex_);
  for (Connection& connection : connections_) {
    shutdown(connection.client, SHUT_RDWR);
    if (connection.service >= 0) shutdown(connection.service, SHUT_RDWR);
  }
}

}  // namespace lockkeeper::support
