// SPDX-License-Identifier: Apache-2.0
//
// One Redis as the store sees it: scripts and commands in, replies out. redis/client implements it
// over pooled connections, redis/cluster for each part of a Cluster; the tests and the simulator
// run the same scripts in-process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "core/types.h"
#include "redis/node/command.h"
#include "redis/node/reply.h"

namespace lockkeeper::redis {

struct ScriptSource;

// Where the calls for a key go. Calls of one route may be joined, and are executed in their order.
// Only the node and its guard know what the numbers mean: for one Redis it is the connection.
struct Route {
  size_t connection = 0;

  bool operator==(const Route&) const = default;
};

// One start of a server, as far as it matters to what it may have forgotten.
struct NodeLife {
  std::string run_id;     // 40 hex digits; empty while the route has no connection.
  bool durable = false;   // It keeps every write that it has confirmed, over a restart too.
  bool promoted = false;  // It was a replica before.
  int64_t evicted_keys = 0;
  core::NodeTime started;        // By its clock, at the latest. 0: it does not tell.
  core::NodeTime primary_since;  // That it is known to be one, by its clock. 0: it does not tell.
  // For how long another server may still have taken writes after this one took its place.
  core::Millis isolation{0};

  bool operator==(const NodeLife&) const = default;
};

// Hears of what is published on a channel.
using MessageListener = std::function<void(std::string_view message)>;

using ConfirmDone = absl::AnyInvocable<void(core::Assurance confirmed) &&>;
using ReplyDone = absl::AnyInvocable<void(absl::StatusOr<Reply>) &&>;

// Completion: `done` runs exactly once, on the loop's thread, never before the call returned.
// Errors: STORE_UNAVAILABLE (not sent, so not executed), OUTCOME_UNKNOWN (sent, connection lost
// before the reply). Error replies of the node are replies: see StatusOfErrorReply.
// Thread-safety: loop-thread only.
class Node {
 public:
  virtual ~Node() = default;

  // The route of everything that belongs to one lock: `record_key` is the key of its record.
  virtual Route RouteOf(std::string_view record_key) const = 0;

  // A route that is connected; if none is, one whose calls fail and say why.
  virtual Route AnyRoute() const = 0;

  // Runs a script. `command` is its EVALSHA; if the node does not know the script it is loaded and
  // the command sent again, in this one place. The order on a route can break then: whoever needs
  // the order waits for the reply.
  virtual void Run(Route route, const ScriptSource& script, Command command, ReplyDone done) = 0;

  // Sends any other command.
  virtual void Send(Route route, Command command, ReplyDone done) = 0;

  // Hears of the messages on `channel` from now on, and again after each reconnect; what is
  // published meanwhile is lost. Requires: called once at most.
  virtual void Subscribe(const std::string& channel, MessageListener listener) = 0;

  // Whom the route is connected to.
  virtual const NodeLife& life(Route route) const = 0;

  // Whether a server that is connected now, and a primary, has this run id. A Cluster moves keys
  // from one to another.
  virtual bool HasPrimary(std::string_view /*run_id*/) const { return false; }

  // A setting of a server it is connected to because of which nothing new may be granted, for
  // people. Empty if there is none.
  virtual const std::string& setting_problem() const = 0;

  // What the node confirms of a write when it replies. kNone while it is away.
  virtual core::Assurance assurance() const = 0;

  // Whether Confirm() may reach `wanted` now, as far as is known.
  virtual bool MayConfirm(core::Assurance wanted) const = 0;

  // Waits until the node has confirmed all that it had replied to on `route` before this call, as
  // far as `wanted` asks; see core::LockStore::Confirm.
  virtual void Confirm(Route route, core::Assurance wanted, core::Instant deadline,
                       ConfirmDone done) = 0;
};

// What a node's health looks like from here.
struct NodeHealth {
  bool reachable = false;
  // It answers, but a setting that `problem` names must be changed before anything is granted
  // there. If it is reachable all the same, holders go on.
  bool refused = false;
  bool connecting = false;     // It is not reachable yet, but nothing has failed.
  std::string problem;         // For people; empty if reachable and not refused.
  std::string server_version;  // "Redis 7.0.15"; empty if never reached.
  core::Assurance assurance = core::Assurance::kNone;

  bool operator==(const NodeHealth&) const = default;
};

// Hears of each change. Thread-safety: called on the loop's thread.
using NodeHealthListener = absl::AnyInvocable<void(const NodeHealth&)>;

}  // namespace lockkeeper::redis
