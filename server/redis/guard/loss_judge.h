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
  kUnreadable,    // Something else is where the marker was.
  kOlderData,     // The marker is an older one.
  kAnotherStore,  // The marker is another service's.
  kRestarted,     // Another start of the server, and not proved that it kept everything.
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
  int64_t epoch = 0;  // No marker of this epoch or of one before tells of the last one.
};

// The evidence for one decision.
struct Sighting {
  // What this daemon had confirmed last when it asked.
  std::optional<SeenMarker> known;
  std::optional<SeenMarker> seen;  // What is there now. Nothing if it is no marker.
  bool unreadable = false;         // Something is there that is none.
  // What records of locks tell, if nothing is seen and nothing known: only then they are searched.
  std::optional<LossKind> records;
  NodeLife life;               // Of the server.
  int64_t evicted_before = 0;  // Keys that it had evicted when it was confirmed last.
  ClockSteps clock_steps;
  core::Micros clock_offset{};  // Of what is known: how far the node's clock is ahead now.
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
    kTrusted,   // The marker that is there is right, as it is.
    kRewrite,   // Nothing was lost: it has to say what the server is like now.
    kFirstUse,  // There was none.
    kLoss,
  };
  Kind kind = Kind::kTrusted;
  StoreMarker marker;        // What is right; to be written unless kTrusted.
  LossKind loss{};           // Of kLoss.
  int64_t evicted_keys = 0;  // Of the server, as it was judged.
};

Judgement Judge(const Sighting& sighting, const JudgePolicy& policy);

// The marker, once an administrator has ended its quarantine at `now`.
StoreMarker WithQuarantineEnded(StoreMarker marker, core::NodeTime now);

// The length of the quarantine if no lease was longer than `ceiling`. The clocks of holders may be
// up to 1 % slow.
core::Millis QuarantineOf(core::Millis ceiling);

}  // namespace lockkeeper::redis
