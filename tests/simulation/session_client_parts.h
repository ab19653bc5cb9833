// SPDX-License-Identifier: Apache-2.0
//
// What a SessionClient is made of, for its own files.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "simulation/session_client.h"
#include "simulation/wish.h"

namespace lockkeeper::simulation {

// A daemon answers earlier than this, or with an error. Then the stream is taken to be dead.
inline constexpr core::Micros kAnswerTimeout{3'500'000};

// The part of a lease that a client does not trust: 1 % and 50 ms.
inline core::Micros Trusted(core::Micros remaining) {
  return remaining - remaining / 100 - core::Micros(50'000);
}

// One acquire and all that comes of it.
struct SessionClient::Round : Wish {
  core::Instant give_up;  // Of acquiring.
  int64_t token = 0;
  std::string reassertion;     // The newest.
  core::Instant believed_end;  // Of the lease, by this client's clock.
  bool believing = false;
  bool releasing = false;
  bool closing = false;  // Released by the end of its session.
  bool adopting = false;
  bool over = false;
  bool careless = false;  // Does not try again.
  bool lost = false;      // As a daemon said.
  std::optional<int64_t> read;
  LinkPtr link;            // Whose session keeps the lease alive.
  LinkPtr acquiring_over;  // With `acquire`, while it is under way.
  uint64_t acquire = 0;
};

struct SessionClient::Question {
  std::function<void(SessionServer&, uint64_t id)> say;
  std::function<void(const Answer&)> done;
  core::Micros timeout = kAnswerTimeout;
};

// A stream, and what is asked over it.
struct SessionClient::Link {
  struct Beat {
    uint64_t id = 0;
    core::Instant sent;
    std::vector<RoundPtr> holders;
  };

  StreamPtr stream;
  size_t daemon = 0;
  bool over = false;
  bool closing = false;
  bool beating = false;
  std::map<uint64_t, std::function<void(const Answer&)>> questions;
  std::map<uint64_t, Beat> beats;  // By number.
  uint64_t next_beat = 1;
};

}  // namespace lockkeeper::simulation
