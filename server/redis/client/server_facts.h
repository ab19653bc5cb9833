// SPDX-License-Identifier: Apache-2.0
//
// What a server tells of itself, and whether locks may be kept there.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/types.h"
#include "redis/client/store_problem.h"
#include "redis/node/command.h"
#include "redis/node/node.h"
#include "redis/node/reply.h"

namespace lockkeeper::redis {

// The lines of INFO as name and value.
using InfoFields = std::map<std::string, std::string, std::less<>>;

// Adds the lines of an INFO reply to `fields`. Values are text whatever the server sends, since
// people read them.
void AddInfo(std::string_view text, InfoFields& fields);

// What the operator vouches for although the server does not show it (store.assume).
struct Assumptions {
  bool no_eviction = false;
  bool durable = false;
  bool no_split_brain = false;
};

// What is expected at the other end of a connection.
enum class Expected {
  kServer,          // One server, which only its operator replaces.
  kPrimary,         // The primary that Sentinels name, until they name another one.
  kSentinel,        // A Sentinel.
  kClusterPrimary,  // A primary of a Cluster, until that names another one.
  kClusterServer,   // A server of a Cluster that is only asked about the others.
};

// What the handshake has learned, or a later look.
struct ServerFacts {
  InfoFields info;                          // Of the sections kInfoSections.
  Reply role;                               // Of ROLE; an error reply where that is not allowed.
  std::optional<Reply> config;              // Of CONFIG GET; nothing where that is not allowed.
  std::vector<std::string> missing_rights;  // Rules that the user lacks, see rights.h.

  // "Redis 7.0.15" or "Valkey 8.0.1".
  std::string Version() const;

  // What the server confirms of a write: kDisk if it is known to reach the disk before the reply.
  core::Assurance Assurance() const;

  // The append-only file is being written anew, or about to be. If it has just been switched on, it
  // keeps nothing before that is done, whatever Assurance() says.
  bool IsRewriting() const;

  // Its clock when it told of itself. Nothing if it does not tell.
  std::optional<core::NodeTime> Clock() const;

  // Replicas that follow it, online or not yet. 0 if it does not tell.
  int64_t ConnectedReplicas() const;

  // This start of the server. Durable if every confirmed write is on its disk, and it was not made
  // a primary after it had been a replica, which may have had less than its primary.
  NodeLife Life() const;

  // How long it takes writes after it has lost all its replicas, because of min-replicas-to-write
  // and min-replicas-max-lag. Redis counts whole seconds, and looks once a second. Nothing if there
  // is no such limit or one of more than 30 s, or the server does not tell.
  std::optional<core::Millis> WritesAloneFor() const;

  // After how long a server of a Cluster counts as failed. Nothing if it does not tell.
  std::optional<core::Millis> ClusterNodeTimeout() const;
};

// The sections that INFO is asked for, and the settings that CONFIG GET is asked for.
inline constexpr std::array<std::string_view, 5> kInfoSections = {"server", "replication", "memory",
                                                                  "persistence", "stats"};
inline constexpr std::array<std::string_view, 5> kConfigSettings = {
    "appendfsync", "no-appendfsync-on-rewrite", "min-replicas-to-write", "min-replicas-max-lag",
    "cluster-node-timeout"};

// The longest that a primary of a Cluster goes on with writes after another one has taken its
// place. 60 s if the server does not tell.
core::Millis IsolationInCluster(const ServerFacts& facts);

// CONFIG GET of kConfigSettings.
Command ConfigQuestion();

// Why the server cannot be talked to as it is: not what is expected, still loading, or too old.
// Nothing if it can.
std::optional<StoreProblem> Judge(const ServerFacts& facts, Expected expected);

// The setting because of which nothing new may be granted, though holders may go on, unless what
// it is about is `assumed`: the server is allowed to evict keys, the user lacks rights, or a
// primary of Sentinels goes on with writes after it was replaced. Empty if all is well.
std::string SettingProblem(const ServerFacts& facts, const Assumptions& assumed, Expected expected);

// The setting because of which the server can never confirm as much of a write as every lease
// needs. Empty if there is none: then it does, or, for kReplicas, may.
std::string AssuranceProblem(const ServerFacts& facts, core::Assurance wanted);

// What an error reply to a command of the handshake means: refused, unless it will pass by itself.
StoreProblem ProblemOfErrorReply(std::string_view command, std::string_view error,
                                 Expected expected);

}  // namespace lockkeeper::redis
