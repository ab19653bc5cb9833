// SPDX-License-Identifier: Apache-2.0
#include "rpc/handshakes.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>

namespace lockkeeper::rpc {
namespace {

// Of a TLS record: type, version, length.
constexpr size_t kRecordHeaderBytes = 5;
constexpr unsigned char kHandshakeRecord = 22;
// Of one handshake at the highest rate.
constexpr std::chrono::nanoseconds kShare =
    std::chrono::nanoseconds(std::chrono::seconds(1)) / kHandshakesPerSecond;
// Handshakes may begin ahead of the rate by this time's number of them, since clients come in
// bursts.
constexpr core::Millis kBurst{2'000};
// An answer takes about a millisecond.
constexpr core::Millis kBusyPause{2};
// Shorter pauses only wake the thread more often.
constexpr core::Millis kPauseMin{10};

}  // namespace

std::optional<uint64_t> HelloBytes(int socket) {
  std::array<unsigned char, kRecordHeaderBytes> header{};
  const ssize_t count = recv(socket, header.data(), header.size(), MSG_PEEK | MSG_DONTWAIT);
  if (count < 0) return errno == EAGAIN ? std::optional<uint64_t>(0) : std::nullopt;
  if (count == 0 || header[0] != kHandshakeRecord) return std::nullopt;
  if (static_cast<size_t>(count) < header.size()) return 0;
  return kRecordHeaderBytes + header[3] * uint64_t{256} + header[4];
}

bool Handshakes::Begin(int socket, uint64_t hello_bytes) {
  if (under_way_.size() >= kHandshakesMax) ForgetEnded();
  bool closed = false;
  if (under_way_.size() >= kHandshakesMax) {
    closed = OpenConnections::Close(under_way_.front().connection);
    under_way_.pop_front();
  }
  under_way_.push_back({OpenConnections::Look(socket), hello_bytes});
  return closed;
}

void Handshakes::ForgetEnded() {
  std::erase_if(under_way_, [](const Handshake& one) {
    const OpenConnection now = OpenConnections::Look(one.connection.fd);
    return now.inode != one.connection.inode || now.received > one.hello_bytes;
  });
}

core::Millis Handshakes::Pause(core::Instant now) {
  free_from_ = std::max(free_from_, now) + kShare;
  const auto ahead = free_from_ - now;
  if (ahead > kBurst) {
    return std::max(kPauseMin, std::chrono::ceil<core::Millis>(ahead - kBurst));
  }
  return IsBusy() ? kBusyPause : core::Millis(0);
}

// gRPC answers in about the order of the hellos, so the last ones tell.
bool Handshakes::IsBusy() const {
  int unanswered = 0;
  const size_t last = std::min<size_t>(under_way_.size(), 2 * kHellosUnansweredMax);
  for (auto one = under_way_.end() - static_cast<std::ptrdiff_t>(last); one != under_way_.end();
       ++one) {
    const OpenConnection now = OpenConnections::Look(one->connection.fd);
    if (now.inode == one->connection.inode && now.sent == 0) ++unanswered;
  }
  return unanswered >= kHellosUnansweredMax;
}

}  // namespace lockkeeper::rpc
