// SPDX-License-Identifier: Apache-2.0
//
// The port by which daemons on one store tell each other what happens to locks, while somebody
// watches. Messages may be lost, and come twice; those of one daemon to another keep their order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "core/lock_event.h"

namespace lockkeeper::core {

// A daemon wants to hear of these locks, for some seconds.
struct WatchInterest {
  std::string daemon_id;
  uint64_t version = 0;  // Rises with each new filter.
  WatchFilters filters;  // Empty: of none any more.
};

// What one daemon tells another that is interested.
struct EventBatch {
  std::string daemon_id;  // Of the sender.
  uint64_t version = 0;   // Of the interest that the sender has heard of last.
  // The sender began to tell this receiver: another number means that events lie between.
  uint64_t stream = 0;
  uint64_t first = 0;  // Number of the first event, in this stream.
  bool last = false;   // The sender stops: it has told everything.
  std::vector<LockEvent> events;
};

// Thread-safety: called on the loop's thread.
class WatchExchangeListener {
 public:
  virtual ~WatchExchangeListener() = default;
  virtual void OnInterest(WatchInterest interest) = 0;
  virtual void OnBatch(EventBatch batch) = 0;
};

// Completion: `done` runs exactly once, on the loop's thread, never before the call returned.
// Thread-safety: loop-thread only.
class WatchExchange {
 public:
  virtual ~WatchExchange() = default;

  // Requires: called once. Who listens must exist as long as messages may come.
  virtual void Listen(WatchExchangeListener& listener) = 0;

  // Tells all daemons, perhaps also this one, of an interest. `done`: how many daemons there are,
  // with this one; 0 if that is not known.
  virtual void TellInterest(const WatchInterest& interest,
                            absl::AnyInvocable<void(size_t daemons) &&> done) = 0;

  // Sends a batch to another daemon. `done` runs when the store has taken it, or failed.
  virtual void Send(const std::string& to, const EventBatch& batch,
                    absl::AnyInvocable<void() &&> done) = 0;
};

}  // namespace lockkeeper::core
