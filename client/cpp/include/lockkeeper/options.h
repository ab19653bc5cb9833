// SPDX-License-Identifier: Apache-2.0
//
// What a caller can choose. Plain structs, filled with designated initialisers; what is left out
// has its default. Limits are the server's and are checked there, unless said otherwise. Every
// member has an initialiser: without one, -Wextra warns of each caller that leaves it out.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace lockkeeper {

// How much the store has to have confirmed of a grant. The numbers are those of
// lockkeeper.v1.Assurance.
enum class Assurance { kUnspecified = 0, kMemory = 1, kDisk = 2, kReplicas = 3, kQuorum = 4 };

// How to reach the service.
struct ClientOptions {
  // Daemons of one service: `host:port`, `[v6]:port` or `unix:/path`. The first that answers is
  // used; the next one is tried when it is unavailable or stopping. 1 to 16.
  std::vector<std::string> addresses = {"127.0.0.1:7600"};

  // Names this program for people: at most 256 bytes. Empty: `host/pid`.
  std::string owner{};

  // Longest time that one call goes on trying, retries included. A wait_timeout comes on top.
  // Positive.
  std::chrono::milliseconds call_timeout{10'000};

  // Longest time that Release and the destructor of a Lease block. After it the release is tried in
  // the background, until the lease has ended by itself. Positive.
  std::chrono::milliseconds release_timeout{2'000};

  // Runs each time that a daemon did not serve a call or a renewal which is tried again, there or
  // at the next address, with the error: for people who wonder what takes so long. On any thread,
  // so return soon. Empty: nothing runs.
  std::function<void(const absl::Status& why)> on_unserved{};
};

// How to acquire a lock.
struct AcquireOptions {
  // Length of the lease, and how far each renewal moves its end. At least 100 ms. Nothing: the
  // server's default, 30 s or its lease.max_ttl.
  std::optional<std::chrono::milliseconds> ttl{};

  // Time to stand in line if the lock is not free. 0: try once.
  std::chrono::milliseconds wait_timeout{0};

  // Names the holder for people. Empty: ClientOptions::owner.
  std::string owner{};

  // Kept with the lease, for people. At most 8.
  std::map<std::string, std::string> labels{};

  // Time for which the lock stays closed if this lease ends without a release. At most 1 min.
  std::chrono::milliseconds lock_delay{0};

  // Longest time for which the lease is renewed. 0: no bound. At least 100 ms, at most 24 h.
  std::chrono::milliseconds max_hold{0};

  // Least that the store has to confirm; else the acquire fails.
  Assurance min_assurance = Assurance::kUnspecified;

  // How long before the lease's end it is called lost, so that the holder can stop its work in
  // time. At most about half of the ttl: 1/20 of the ttl has to lie between the regular renewal and
  // the loss (checked here).
  std::chrono::milliseconds stop_margin{0};

  // Ends the call early when a stop is requested: it then fails with CANCELLED.
  std::stop_token cancel{};

  // Lease id to use: 32 hex digits or a UUID. Empty: a new random one. With an id of its own the
  // caller can repeat the acquire later, and has to release it if the outcome stays unknown: then
  // the client does not.
  std::string lease_id{};
};

// How to take over a lease by its id.
struct AdoptOptions {
  // As in AcquireOptions; the lease then runs on with this ttl. Nothing: the ttl as granted.
  std::optional<std::chrono::milliseconds> ttl{};

  // As in AcquireOptions.
  std::chrono::milliseconds stop_margin{0};

  // Those of the Grant. With them the lease can be taken over, and is kept, also when the store has
  // lost its state since; else it is lost then. 0 and empty: not known.
  int64_t fencing_token = 0;
  std::string reassertion{};
};

// What a Fence has to check.
struct FenceOptions {
  // Whether the token's lease has to be live as well.
  bool require_live_lease = false;
};

}  // namespace lockkeeper
