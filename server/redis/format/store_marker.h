// SPDX-License-Identifier: Apache-2.0
//
// The marker: the one key that says which life of the store this is. A store that has lost state
// has lost it too, or has an older one. docs/reference/marker.md shows its columns.
//
// Its text is the stamp, which every script compares with what its daemon expects; then what only
// daemons read; then the beat, which scripts/marker.lua writes by itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/types.h"

namespace lockkeeper::redis {

struct StoreMarker {
  std::string service_id;  // 16 hex digits, random: tells this service's store from any other.
  int64_t epoch = 0;       // Number of the store's life, from 1 on.
  std::string run_id;  // 40 hex digits: the start of the server that all daemons have agreed on.
  core::Millis ttl_ceiling{};     // No grant has closed a lock for longer than this.
  core::NodeTime quarantine_end;  // No new grants before.
  bool durable = false;  // The server kept every write it had confirmed, when last looked at.
  std::string home;      // 16 hex digits: the embedded store's folder; zeros for any other.
  std::string reassertion_key;  // 32 hex digits: what leases are proved with.
  core::FencingToken token_floor;
  // How far the node's clock is ahead of service time, by the steps that were noticed since the
  // reassertion key was made.
  core::Micros clock_offset{};

  // What scripts compare.
  std::string Stamp() const;
  // The stamp, and what daemons read besides.
  std::string Text() const;

  bool operator==(const StoreMarker&) const = default;
};

// Each daemon raises the count about once a second. A marker with a lower count is an older one.
struct MarkerBeat {
  int64_t count = 0;
  core::NodeTime at;
};

struct SeenMarker {
  StoreMarker marker;
  MarkerBeat beat;
};

// Reads the text of the key. Nothing if it is not a marker of this format.
std::optional<SeenMarker> ParseMarker(std::string_view text);

// What scripts/marker.lua compares: `text` without its beat.
std::string_view WithoutBeat(std::string_view text);

}  // namespace lockkeeper::redis
