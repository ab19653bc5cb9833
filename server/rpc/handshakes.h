// SPDX-License-Identifier: Apache-2.0
//
// TLS handshakes that are under way. gRPC 1.51 bounds neither their number nor how many begin in a
// second, and does not report that one is over. What the kernel has received tells: a client sends
// its hello, and nothing more before the server has answered and proved itself, which is the
// expensive part.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "core/types.h"
#include "rpc/open_connections.h"

namespace lockkeeper::rpc {

// Handshakes that may be under way at a time.
inline constexpr size_t kHandshakesMax = 256;
// Those to which the daemon has not answered yet: more would only wait for the processor, and with
// them what other clients have sent.
inline constexpr int kHellosUnansweredMax = 4;
// That may begin in a second, after a burst of twice as many. One takes the processor one or two
// milliseconds.
inline constexpr int kHandshakesPerSecond = 250;
// Time for a client to make its connection ready, with TLS or without.
inline constexpr core::Millis kHandshakeTimeMax{5'000};

// Bytes of the hello with which the client of a new connection begins. 0 if nothing has arrived
// yet; nothing if this is not TLS.
std::optional<uint64_t> HelloBytes(int socket);

// Thread-safety: not thread-safe.
class Handshakes {
 public:
  // A handshake begins, with a hello of that many bytes. If kHandshakesMax are under way, closes
  // the oldest of them: a good client needs milliseconds. Returns whether it has closed one.
  bool Begin(int socket, uint64_t hello_bytes);

  // How long to accept nothing after a handshake that has begun `now`, so that not more than
  // kHandshakesPerSecond begin, and not more than kHellosUnansweredMax are unanswered. 0: no time.
  core::Millis Pause(core::Instant now);

 private:
  struct Handshake {
    OpenConnection connection;
    uint64_t hello_bytes;
  };

  void ForgetEnded();
  bool IsBusy() const;

  std::deque<Handshake> under_way_;                 // The oldest first; some may be over.
  core::Instant free_from_ = core::Instant::min();  // When all that began have had their share.
};

}  // namespace lockkeeper::rpc
