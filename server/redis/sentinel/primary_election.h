// SPDX-License-Identifier: Apache-2.0
//
// Which server is the primary, by what the Sentinels say. No I/O.
//
// A failover raises the config epoch of the service. The Sentinel that leads it knows first, and
// tells the others at once, or within 2 s if a message is lost. So of the answers of a majority the
// one with the highest config epoch counts, and a Sentinel that was cut off is outvoted.
// Source: the page "Redis Sentinel client spec" of the documentation of Redis, and "Sentinels and
// replicas auto discovery" and "Configuration epochs" of its page on Sentinel.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/types.h"
#include "redis/node/reply.h"

namespace lockkeeper::redis {

struct ServerAddress {
  std::string host;  // Name or address, without brackets.
  uint16_t port = 0;

  auto operator<=>(const ServerAddress&) const = default;
};

// What one Sentinel says.
struct SentinelView {
  std::string id;  // Of the Sentinel, 40 hex digits.
  ServerAddress primary;
  int64_t config_epoch = 0;
  size_t sentinels = 1;  // That it knows of, itself included.
  core::Instant asked;   // When it was asked: what it said was true then or later.
};

struct Election {
  std::optional<ServerAddress> primary;  // Nothing if too few have been heard.
  int64_t config_epoch = 0;
  size_t heard = 0;   // Sentinels whose views count.
  size_t needed = 1;  // A majority of all.
  size_t known = 1;   // All that are known of.
};

enum class Majority { kNeeded, kNotNeeded };

struct NamedPrimary {
  ServerAddress address;
  int64_t config_epoch = 0;
};

struct ElectionRules {
  core::Instant oldest;  // Views that are older do not count.
  size_t named = 1;      // Sentinels that the configuration names.
  Majority majority = Majority::kNeeded;
  // The primary so far. It stays if as many name another one with the same config epoch: one server
  // may be known by several addresses.
  std::optional<ServerAddress> current;
  // Views with a lower config epoch do not vote: it is the primary if they are all that is heard.
  std::optional<NamedPrimary> newest;
};

Election Elect(std::span<const SentinelView> views, const ElectionRules& rules);

struct SentinelTimes {
  core::Millis ask_interval{1'000};
  // For how long an answer counts.
  core::Millis answer_lifetime{3'000};

  // For how long a daemon may use a primary after it was replaced: Sentinels tell each other of a
  // failover every 2 s at least, what they said before counts for a while, and is looked at once
  // in an interval.
  constexpr core::Millis Isolation() const {
    return std::chrono::seconds(2) + answer_lifetime + ask_interval;
  }
};

// Elections one after the other. A Sentinel that has not heard of a failover yet must not lead back
// to the primary before, once the answer of another one that has heard of it does not count any
// more. So a config epoch outdoes lower ones until all Sentinels know it. Not for ever: those that
// were set up anew begin with the lowest.
class Elections {
 public:
  Elections(SentinelTimes times, size_t named, Majority majority)
      : times_(times), named_(named), majority_(majority) {}

  // `current`: see ElectionRules.
  Election Hold(std::span<const SentinelView> views, core::Instant now,
                const std::optional<ServerAddress>& current);

 private:
  const SentinelTimes times_;
  const size_t named_;
  const Majority majority_;
  std::optional<NamedPrimary> newest_;
  core::Instant heard_;  // Of `newest_`, last.
};

// Readers of what a Sentinel answers. Nothing if it is malformed.
// The state of the service: config epoch and number of Sentinels.
struct ServiceState {
  int64_t config_epoch = 0;
  size_t sentinels = 1;
};
std::optional<ServiceState> ReadServiceState(const Reply& reply);
// The address of the primary, by itself.
std::optional<ServerAddress> ReadPrimaryAddress(const Reply& reply);
// The other Sentinels.
struct OtherSentinel {
  std::string id;
  ServerAddress address;
};
std::vector<OtherSentinel> ReadOtherSentinels(const Reply& reply);

}  // namespace lockkeeper::redis
