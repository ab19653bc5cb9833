// SPDX-License-Identifier: Apache-2.0
#include "rpc/connection_acceptor.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "core/limits.h"
#include "os/idle_memory.h"
#include "os/thread_clock.h"
#include "telemetry/log_fields.h"

namespace lockkeeper::rpc {
namespace {

using core::limits::kDescriptorReserve;

// Nothing is accepted for this long after a flood: its client reconnects at once, while gRPC is
// still busy with what it has sent. Other clients wait in the backlog meanwhile.
constexpr core::Millis kFloodPause{1'000};
// How often the process looks whether it has memory that it no longer needs: looking takes 2 ms
// where 11,000 pieces are free, in which nobody else may allocate. More rarely where it was no use.
constexpr core::Millis kMemoryIntervalMin{10'000};
constexpr core::Millis kMemoryIntervalMax{300'000};
// Less is kept: it is soon needed again.
constexpr size_t kIdleMemoryMax = 12 << 20;
// gRPC takes some time to close what it finds closed.
constexpr core::Millis kRoomInterval{50};

void SetOption(int socket, int level, int name, int value) {
  setsockopt(socket, level, name, &value, sizeof(value));
}

// Connections inherit them. If the buffer were set on them later, a client that has seen a larger
// window would stall.
std::vector<os::Descriptor> WithOptions(std::vector<ListeningSocket> listening) {
  std::vector<os::Descriptor> sockets;
  for (ListeningSocket& one : listening) {
    SetOption(one.socket.get(), SOL_SOCKET, SO_RCVBUF, core::limits::kReceiveBufferBytes);
    SetOption(one.socket.get(), IPPROTO_TCP, TCP_MAXSEG, core::limits::kSegmentBytesMax);
    if (one.security != config::Security::kNone) {
      // The kernel keeps a connection to itself until its client has said something.
      SetOption(one.socket.get(), IPPROTO_TCP, TCP_DEFER_ACCEPT,
                static_cast<int>(kHandshakeTimeMax / std::chrono::seconds(1)));
    }
    sockets.push_back(std::move(one.socket));
  }
  return sockets;
}

std::vector<config::Security> SecurityOf(const std::vector<ListeningSocket>& listening) {
  std::vector<config::Security> security;
  security.reserve(listening.size());
  for (const ListeningSocket& one : listening) security.push_back(one.security);
  return security;
}

size_t DescriptorsForConnections() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur - std::min<rlim_t>(kDescriptorReserve, limit.rlim_cur / 2);
}

}  // namespace

ConnectionAcceptor::ConnectionAcceptor(std::vector<ListeningSocket> listening,
                                       size_t connections_max, HandOver hand_over,
                                       CountCalls count_calls, const core::Clock& clock,
                                       telemetry::Metrics& metrics, telemetry::Logger logger)
    : connections_max_(std::min(connections_max, DescriptorsForConnections())),
      hand_over_(std::move(hand_over)),
      count_calls_(std::move(count_calls)),
      clock_(clock),
      logger_(logger),
      closed_(metrics.ConnectionsClosed("too_many")),
      closed_for_flood_(metrics.ConnectionsClosed("flood")),
      closed_without_tls_(metrics.ConnectionsClosed("no_tls")),
      closed_handshakes_(metrics.ConnectionsClosed("handshakes")),
      security_(SecurityOf(listening)),
      loop_(
          "accept", WithOptions(std::move(listening)), -1,
          {.on_connection = [this](os::Descriptor socket,
                                   size_t number) { Accept(std::move(socket), security_[number]); },
           .on_shortage = nullptr,
           .before_wait =
               [this] {
                 EndFloods();
                 ReturnMemory();
                 return UntilNextLook();
               }},
          clock) {}

ConnectionAcceptor::~ConnectionAcceptor() = default;

void ConnectionAcceptor::Accept(os::Descriptor socket, config::Security security) {
  if (open_.size() >= connections_max_) MakeRoom();
  if (open_.size() >= connections_max_) {
    closed_.Increment();
    return;
  }
  if (security != config::Security::kNone && !BeginHandshake(socket.get())) {
    closed_without_tls_.Increment();
    return;
  }
  SetOption(socket.get(), IPPROTO_TCP, TCP_NODELAY, 1);
  open_.Add(socket.get());
  hand_over_(socket.Release(), security);
}

bool ConnectionAcceptor::BeginHandshake(int socket) {
  const std::optional<uint64_t> hello_bytes = HelloBytes(socket);
  if (!hello_bytes) return false;
  if (handshakes_.Begin(socket, *hello_bytes)) closed_handshakes_.Increment();
  const core::Millis pause = handshakes_.Pause(clock_.Now());
  if (pause > core::Millis(0)) loop_.Pause(pause);
  return true;
}

// Closes the tenth of the connections that have sent the least: a client that was served has sent
// more than an idle one.
void ConnectionAcceptor::MakeRoom() {
  const core::Instant now = clock_.Now();
  if (now < room_from_) return;
  room_from_ = now + kRoomInterval;
  std::vector<OpenConnection> open = open_.List();
  if (open.size() < connections_max_) return;
  const auto end = open.begin() + static_cast<std::ptrdiff_t>((open.size() + 9) / 10);
  std::partial_sort(open.begin(), end, open.end(),
                    [](const auto& a, const auto& b) { return a.received < b.received; });
  for (auto one = open.begin(); one != end; ++one) {
    if (OpenConnections::Close(*one)) closed_.Increment();
  }
  logger_.WriteLimited(log_limit_, telemetry::LogLevel::kWarn, "rpc.connections_closed",
                       "There are as many connections as there may be: those that have sent the "
                       "least are closed, and new ones until there is room",
                       {telemetry::field::Connections(open.size())});
}

void ConnectionAcceptor::EndFloods() {
  const core::Instant now = clock_.Now();
  if (now < look_from_) return;
  const std::chrono::nanoseconds spent = os::ThreadTime();
  const std::vector<std::string> clients = floods_.Look(count_calls_());
  // Looking at many connections takes long: spend at most a tenth of the time on it. How long this
  // thread has waited for others does not count: they are what a flood keeps busy.
  look_from_ = now + floods_.interval() +
               std::chrono::duration_cast<core::Micros>(10 * (os::ThreadTime() - spent));
  if (clients.empty()) return;
  loop_.Pause(kFloodPause);
  size_t closed = 0;
  for (const OpenConnection& connection : open_.List()) {
    if (std::find(clients.begin(), clients.end(), ClientOf(connection)) == clients.end()) continue;
    if (!OpenConnections::Close(connection)) continue;
    closed_for_flood_.Increment();
    ++closed;
  }
  logger_.WriteLimited(flood_limit_, telemetry::LogLevel::kWarn, "rpc.flood_ended",
                       "Calls were opened and reset faster than gRPC forgets them: the connections "
                       "that did so are closed, and none is accepted for a second",
                       {telemetry::field::Connections(closed)});
}

core::Millis ConnectionAcceptor::UntilNextLook() const {
  return std::max(std::chrono::ceil<core::Millis>(look_from_ - clock_.Now()), core::Millis(0));
}

// Many connections that end, or a flood, leave memory behind that nobody uses.
void ConnectionAcceptor::ReturnMemory() {
  const core::Instant now = clock_.Now();
  if (now < return_memory_from_) return;
  const os::MemoryUse before = os::ReadMemoryUse();
  bool useful = true;
  if (before.idle > std::max(kIdleMemoryMax, before.in_use / 4)) {
    os::ReturnIdleMemory();
    useful = os::ReadMemoryUse().idle < before.idle / 2;
  }
  memory_interval_ =
      useful ? kMemoryIntervalMin : std::min(memory_interval_ * 2, kMemoryIntervalMax);
  return_memory_from_ = now + memory_interval_;
}

}  // namespace lockkeeper::rpc
