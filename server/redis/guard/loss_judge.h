// SPDX-License-Identifier: Apache-2.0
//
// Decides whether the store may have forgotten something: compares the marker in the store with the
// one that this daemon knows, and with the state of the server. No I/O; node_guard acts on the
// decision.
//
// Source: the cases are those of docs/concepts/when_redis_forgets.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/types.h"
#include "core/wall_time.h"
#include "redis/format/store_marker.h"
#include "redis/node/node.h"

namespace lockkeeper::redis {

enum class FirstUse { kGrant, kQuarantine };
enum class QuarantineMode { kOn, kOff };

// Why the store is no longer trusted to know all leases.
enum class LossKind {
  kEmptied,       // The marker is gone.
  kUnreadable,    // The key of the marker holds something else.
  kOlderData,     // The data is older than what a daemon has seen.
  kAnotherStore,  // The marker is another service's.
  kRestarted,     // The server was restarted, and nothing proves that it kept everything.
  kPromoted,      // The server was a replica, which may not have had everything.
  kDataTouched,   // The embedded store's folder is a copy, or was changed while it was down.
  kClockStep,     // The server's clock was set.
  kEvicted,       // The server has evicted keys.
  kRecordsFirst,  // There are records of locks, but no marker.
  kNotSearched,   // There is no marker, and there are too many keys to search them for records.
};

inline constexpr size_t kLossKinds = static_cast<size_t>(LossKind::kNotSearched) + 1;

// Its name in logs, metrics and GetServerInfo, such as "emptied".
std::string_view NameOf(LossKind kind);

// What happened and what to do about it, for people.
std::string_view ExplanationOf(LossKind kind);

// No server's isolation is longer, see NodeLife.
inline constexpr core::Millis kIsolationMax{60'000};

struct JudgePolicy {
  FirstUse first_use = FirstUse::kGrant;
  QuarantineMode quarantine = QuarantineMode::kOn;
  // The longest possible lease with its lock_delay, by the configuration. Assumed for a store that
  // no daemon knows.
  core::Millis ceiling_max{};
  // Restarts lose nothing, whatever the server says (store.assume).
  bool assume_durable = false;
  // Of the embedded store: its folder, as 16 hex digits, and when its files were changed last,
  // by the machine's clock, before its server was started. Zeros and 0 for any other store.
  std::string home = std::string(16, '0');
  core::WallTime home_changed;
  // Random, for a store that has none: 16 and 32 hex digits.
  std::string new_service_id;
  std::string new_reassertion_key;
};

// Steps of the node's clock that this daemon has noticed since it confirmed a marker.
struct ClockSteps {
  int count = 0;
  int64_t epoch = 0;  // The last step is in no marker of this epoch or an earlier one.
};

// The evidence for one decision.
struct Sighting {
  // The marker that this daemon had confirmed last when it asked.
  std::optional<SeenMarker> known;
  std::optional<SeenMarker> seen;  // The marker that is there now. Nothing if there is none.
  bool unreadable = false;         // The key holds something that is no marker.
  // What a search for records of locks has shown. Only made if nothing is seen and nothing known.
  std::optional<LossKind> records;
  // Of the server. Its `isolation` is the longest of all servers that this daemon has seen: that
  // of the one before counts.
  NodeLife life;
  // The server that the marker names is a primary still: the marker came from there, and so did the
  // other keys of its slot.
  bool from_living_primary = false;
  int64_t evicted_before = 0;  // Keys that it had evicted when it was confirmed last.
  ClockSteps clock_steps;
  core::Micros clock_offset{};  // How far the node's clock is ahead of service time now.
  // The store has lost a write that it had confirmed to this daemon, whatever its marker says.
  bool older_data = false;
  // A holder has proved a lease that is so long, in a quarantine that may be too short for it.
  core::Millis ceiling_wanted{};
  // Whether the marker may be changed to "durable". Only now and then: daemons that see different
  // settings (one lacks a right, or has looked earlier) would overwrite each other's marker all the
  // time.
  bool may_improve = false;
  core::NodeTime now;  // Of the server.
  core::FencingToken token_floor;
};

struct Judgement {
  enum class Kind {
    kTrusted,   // The marker is right as it is.
    kRewrite,   // Nothing was lost, but the marker must say what the server is like now.
    kFirstUse,  // The store is new.
    kLoss,
  };
  Kind kind = Kind::kTrusted;
  StoreMarker marker;  // The right one; to be written unless kTrusted.
  LossKind loss{};     // Of kLoss.
  // Of kLoss: the data is that of a moment before, all of it, at a server that was a replica. So
  // its quarantine may end once all daemons have restored what they had told their clients.
  bool is_earlier_state = false;
  int64_t evicted_keys = 0;  // Of the server, as it was judged.
};

Judgement Judge(const Sighting& sighting, const JudgePolicy& policy);

// The marker, once an administrator has ended its quarantine at `now`.
StoreMarker WithQuarantineEnded(StoreMarker marker, core::NodeTime now);

// The end of the isolation after which the marker's quarantine began. If the quarantine began
// without one: when it began, or before.
core::NodeTime IsolationEnd(const StoreMarker& marker);

// The length of the quarantine if no lease was longer than `ceiling`. The clocks of holders may be
// up to 1 % slow.
core::Millis QuarantineOf(core::Millis ceiling);

}  // namespace lockkeeper::redis
