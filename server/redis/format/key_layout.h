// SPDX-License-Identifier: Apache-2.0
//
// Where things are in Redis: the only place that builds or reads a key.
//
//   <prefix>{<lock name>}        record of the lock (string), see scripts/record.lua
//   <prefix>{<lock name>}:line   its line of waiters (sorted set), see scripts/line.lua
//   <prefix>store                marker of the store (string), see store_marker.h
//   <prefix>daemons              roll of the daemons (string), see daemon_roll.h
//   <prefix>daemon:<daemon id>   channel on which a daemon hears of its waiters
//
// In a Cluster the prefix begins with the hash tag of the lock's part, and all keys of a part are
// in one slot.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lockkeeper::redis {

class KeyLayout {
 public:
  explicit KeyLayout(std::string prefix);

  std::string RecordKey(std::string_view lock_name) const;
  // Of the lock whose record is at `record_key`.
  static std::string LineKeyOf(std::string_view record_key);

  // The marker of the store, see store_marker.h.
  std::string MarkerKey() const;
  // The roll of the daemons, see daemon_roll.h.
  std::string RollKey() const;

  // What a daemon's channel begins with; its id, 16 hex digits, follows.
  const std::string& ChannelPrefix() const { return channel_prefix_; }

  // Pattern of PUBSUB CHANNELS: the channels of all daemons.
  std::string ChannelPattern() const;

  // Name of the lock whose record is at `key`. Nothing if `key` is not a record's.
  std::optional<std::string> LockName(std::string_view key) const;

  // SCAN pattern of the records whose lock name begins with `name_prefix`, taken literally.
  std::string RecordPattern(std::string_view name_prefix) const;

 private:
  std::string prefix_;
  std::string channel_prefix_;
};

}  // namespace lockkeeper::redis
