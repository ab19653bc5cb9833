// SPDX-License-Identifier: Apache-2.0
#include "rpc/connection_acceptor.h"

#include <malloc.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/limits.h"
#include "telemetry/log_fields.h"

namespace lockkeeper::rpc {
namespace {

using core::limits::kDescriptorReserve;

// Nothing is accepted for this long after a flood: its client comes again at once, and what it has
// sent is still being worked off. Others wait in the backlog meanwhile.
constexpr core::Millis kFloodPause{1'000};
// Of a flood; then what it took is free, and is given back to the system.
constexpr core::Millis kWorkedOffAfter{3'000};
// gRPC takes some time to close what it finds closed.
constexpr core::Millis kRoomInterval{50};

void SetOption(int socket, int level, int name, int value) {
  setsockopt(socket, level, name, &value, sizeof(value));
}

// Connections inherit it. Set on them later, a client that has seen a larger window stalls.
std::vector<os::Descriptor> WithSmallBuffers(std::vector<os::Descriptor> listening) {
  for (const os::Descriptor& socket : listening) {
    SetOption(socket.get(), SOL_SOCKET, SO_RCVBUF, core::limits::kReceiveBufferBytes);
  }
  return listening;
}

size_t DescriptorsForConnections() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur - std::min<rlim_t>(kDescriptorReserve, limit.rlim_cur / 2);
}

}  // namespace

ConnectionAcceptor::ConnectionAcceptor(std::vector<os::Descriptor> listening,
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
      loop_("accept", WithSmallBuffers(std::move(listening)), -1,
            {.on_connection = [this](os::Descriptor socket) { Accept(std::move(socket)); },
             .on_shortage = nullptr,
             .before_wait =
                 [this] {
                   EndFloods();
                   ReturnMemory();
                   return kFloodLookInterval;
                 }},
            clock) {}

ConnectionAcceptor::~ConnectionAcceptor() = default;

void ConnectionAcceptor::Accept(os::Descriptor socket) {
  if (open_.size() >= connections_max_) MakeRoom();
  if (open_.size() >= connections_max_) {
    closed_.Increment();
    return;
  }
  SetOption(socket.get(), IPPROTO_TCP, TCP_NODELAY, 1);
  open_.Add(socket.get());
  hand_over_(socket.Release());
}

// Closes a tenth: those that have said the least. Whoever was served has said more than who only
// sits there.
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
  look_from_ = now + kFloodLookInterval;
  const std::vector<std::string> clients = floods_.Look(count_calls_());
  // Many connections take long to look at: no more than a tenth of the time.
  look_from_ += 10 * (clock_.Now() - now);
  if (clients.empty()) return;
  loop_.Pause(kFloodPause);
  return_memory_at_ = now + kWorkedOffAfter;
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

// Pieces that are still in use lie between what is free, so the heap keeps it all by itself.
void ConnectionAcceptor::ReturnMemory() {
  if (!return_memory_at_ || clock_.Now() < *return_memory_at_) return;
  return_memory_at_.reset();
  malloc_trim(0);
}

}  // namespace lockkeeper::rpc
