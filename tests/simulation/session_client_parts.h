// SPDX-License-Identifier: Apache-2.0
//
// The parts of a SessionClient, for its own files only.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "simulation/session_client.h"
#include "simulation/wish.h"

namespace lockkeeper::simulation {

// A daemon answers sooner than this. If there is no answer, the stream counts as dead.
inline constexpr core::Micros kAnswerTimeout{3'500'000};

// How long a client trusts a lease: `remaining` without 1 % and 50 ms.
inline core::Micros Trusted(core::Micros remaining) {
  return remaining - remaining / 100 - core::Micros(50'000);
}

// One acquire, with its lease and its release.
struct SessionClient::Round : Wish {
  core::Instant give_up;  // The end of acquiring.
  int64_t token = 0;
  std::string reassertion;     // The newest.
  core::Instant believed_end;  // Of the lease, by this client's clock.
  bool believing = false;
  bool releasing = false;
  bool closing = false;   // The end of its session releases it.
  LinkPtr adopting_over;  // Null if it is not being adopted.
  bool over = false;
  bool careless = false;  // It does not retry.
  bool lost = false;      // A daemon said so.
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

// A stream, and its open questions.
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
