// SPDX-License-Identifier: Apache-2.0
//
// The description of one run of the simulator: the numbers of daemons and clients, their behaviour,
// and the faults with their times. The same schedule always runs the same. Removing a fault or a
// client does not change the others, so that a failure can be shrunk.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "core/types.h"

namespace lockkeeper::simulation {

using core::Micros;

enum class FaultKind {
  kDaemonCrash,        // Gone at once; another one with a new id comes after the duration.
  kDaemonPause,        // Paused for the duration, with open connections.
  kDaemonDrain,        // Stops as on SIGTERM and is replaced after the duration.
  kStoreCut,           // A daemon's connections break; new ones come after the duration.
  kStoreSlow,          // A daemon's requests to the store take up to the duration more.
  kStoreReplyLost,     // A daemon's requests are executed, but the replies are lost.
  kMessagesLost,       // Messages to a daemon are lost for the duration.
  kMessagesLate,       // Messages to a daemon are seconds late and out of order.
  kSubscriptionDown,   // A daemon has no subscription, so PUBLISH reports no receiver.
  kNetworkSlow,        // Messages between clients and daemons take up to the duration more.
  kNetworkLossy,       // One in four of them is lost.
  kNetworkDuplicates,  // One in four requests comes twice.
  kClientDeath,        // A client is gone at once; another one takes its place.
  kClientPause,        // A client is paused, possibly past the end of its lease.
  kScriptsForgotten,   // SCRIPT FLUSH.
  kNodeRestart,        // Every connection breaks; the store comes back with what it had.
  kNodeClockBack,      // The node's clock is set back by a third of the duration.
  kStreamBroken,       // A session's stream breaks, and both ends notice.
  kStreamHalfOpen,     // The daemon notices only after the duration.
  kStreamDead,         // The client notices only after the duration, or by itself.
  kReaderStill,        // A session's client reads nothing for the duration.
  kStoreFlushed,       // FLUSHALL.
  kRestartEmpty,       // As a restart of the node, without its data;
  kRestartOlder,       // with what it had half of the duration before;
  kRestartUnproved,    // with all data, but nobody can know that.
  kNodeClockForward,   // The node's clock is set forward: by seconds, a minute, or an hour.
  kNodeClockFarBack,   // The same, back.
  kNodeClockSlewed,    // The node's clock runs 0.05 % fast or slow for the duration.
  kNodeClockNudged,    // The node's clock is set by the duration, mostly forward.
  kDataReplaced,       // By older data, while all connections go on.
  kLogCut,             // As kRestartOlder, of a node that says that it keeps what it has confirmed.
  kReplicasAway,       // No replica acknowledges anything.
  kConfirmationsDown,  // A daemon cannot ask what replicas acknowledge.
  kFailover,           // Another server is promoted; the one before may go on (failover.h).
  kFailoverOrdered,    // The same; the one before becomes a replica at once.
};
inline constexpr int kFaultKinds = 17;  // Those before the ones of streams.
inline constexpr int kStreamFaultKinds = 4;
inline constexpr int kLossFaultKinds = 7;    // Of which a loss is drawn; then come others.
inline constexpr int kDaemonFaultKinds = 9;  // The first: of daemons and their links to the store.
inline constexpr int kAllFaultKinds = kFaultKinds + kStreamFaultKinds + kLossFaultKinds + 7;

struct Fault {
  FaultKind kind = FaultKind::kDaemonCrash;
  Micros at{};
  Micros duration{};
  uint32_t target = 0;  // Daemon or client, modulo their number.
};

struct Schedule {
  uint64_t seed = 0;  // Of what clients want and how long messages take.
  int daemons = 2;
  int entrances = 2;  // Daemons that clients begin with; where they fail, they go on to the next.
  bool balanced = false;  // Calls about leases that clients have go to any daemon.
  int clients = 2;
  int session_clients = 0;  // The first of them use a session, the others unary calls.
  int session_leases = 1;   // That each of these wants at a time.
  int locks = 1;
  core::Millis ttl{};  // Of the leases.
  core::Millis lock_delay{};
  core::Millis max_hold{};  // Zero: no bound.
  // Of every other acquire. Zero: of none.
  core::Millis hold_at_least{};
  bool in_memory = false;      // The store is the one in memory (memory_watch.h), not Redis.
  bool scripts_loaded = true;  // Else the store learns them as they are needed.
  bool durable = true;         // The node keeps what it has confirmed over restarts, and says so.
  bool guarded = true;         // Daemons notice that the store has lost something.
  Micros think_max{};          // Between a client's acquires.
  Micros hold_max{};           // How long a client wants to hold.
  core::Millis wait_max{};     // Longest wait_timeout.
  int cancel_one_in = 10;      // Waits that their client gives up.
  int confirm_one_in = 2;      // Acquires whose client claims by itself.
  int careless_one_in = 10;    // Acquires whose client does not try again.
  int clinging_one_in = 0;     // Grants whose client proves them when they are over. 0: none.
  int impatient_one_in = 0;    // Acquires sent anew while the call before is still open. 0: none.
  int slow_claim_one_in = 0;   // Offers whose client claims late, or never. 0: none.
  int hand_on_one_in = 0;      // Sessions left for another that are closed with a release. 0: none.
  int prove_ended_one_in = 0;  // Releases whose client proves its lease afterwards. 0: none.
  int assured_one_in = 0;      // Acquires that replicas have to confirm. 0: none.
  bool replicas_confirm = false;  // All of them.
  bool ends_quarantines = false;  // An operator ends those that nobody needs any more.
  bool restores = false;          // Daemons restore what they told, and end quarantines early.
  Micros faults_end{};            // Then everything heals.
  Micros order_from{};            // From then on, how long each message takes (message_order.h):
  std::string order;              // a digit for each; then they take what chance says.
  std::vector<Fault> faults;      // By time.
};

// A daemon in good order notices a loss within this time: by its beat, and a look at the marker.
inline constexpr Micros kNoticedWithin{1'200'000};

// And to find replicas again that were away: a probe, and then a poll.
inline constexpr Micros kReplicasFoundWithin{2'000'000};

inline bool IsFailover(FaultKind kind) {
  return kind == FaultKind::kFailover || kind == FaultKind::kFailoverOrdered;
}

bool HasFailover(const Schedule& schedule);

// The age of the data that the fault brings back. Nothing if the node keeps its data.
std::optional<Micros> AgeOfData(const Fault& fault);

// One line for people.
std::string Describe(const Fault& fault);

// The whole schedule as a line of `name=value` and `kind@at+duration/target` (microseconds), which
// ParseSchedule reads back. INVALID_ARGUMENT for anything else.
std::string WriteSchedule(const Schedule& schedule);
absl::StatusOr<Schedule> ParseSchedule(const std::string& text);

// Makes the store the one in memory, and leaves out what only Redis has: scripts, messages, and
// whatever makes it forget. Its restart breaks all connections, no more.
void PutInMemory(Schedule& schedule);

// Sorts the faults by time, and sets what they imply: whether a guard is needed, and whether the
// node is durable.
void Normalize(Schedule& schedule);

}  // namespace lockkeeper::simulation
