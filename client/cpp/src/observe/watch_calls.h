// SPDX-License-Identifier: Apache-2.0
//
// The calls to the daemons that an observer makes. WatchOperations makes them over gRPC; tests have
// scripted ones.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "observe/watched_lock.h"
#include "renewal/time.h"

namespace lockkeeper::client {

// Thread-safety: called on any thread, possibly before the call that led to it returned.
struct WatchListener {
  std::function<void(const std::vector<LockEvent>& events)> on_events;
  // The stream has ended, or never began. Never OK. This is the last call.
  std::function<void(const absl::Status& why)> on_end;
};

// One stream of events. Thread-safety: thread-safe.
class WatchStream {
 public:
  virtual ~WatchStream() = default;

  // Asks for the next events, the first time by beginning the call: on_events or on_end follows.
  // Requires: none are asked for.
  virtual void Read() = 0;
  // Ends the call soon, even if the connection hangs: on_end follows, but if it has not begun only
  // after Read.
  virtual void Cancel() = 0;
};

// One question what the store knows of the lock. Thread-safety: thread-safe.
class LookCall {
 public:
  using Done = absl::AnyInvocable<void(absl::StatusOr<LockLook>) &&>;

  virtual ~LookCall() = default;

  // Sends it. `done` follows, within kTryTimeout. Called once.
  virtual void Begin() = 0;
  // Ends the call soon, or as soon as it has begun.
  virtual void Cancel() = 0;
};

// Thread-safety: thread-safe.
class WatchCalls {
 public:
  virtual ~WatchCalls() = default;

  // How many daemons there are, and the one that the client uses.
  virtual size_t size() const = 0;
  virtual size_t current() const = 0;
  // This daemon did not serve, so the client goes on at the next one.
  virtual void Failed(size_t daemon, const absl::Status& why) = 0;

  virtual std::shared_ptr<WatchStream> NewWatch(size_t daemon, const std::string& name,
                                                WatchListener listener) = 0;
  virtual std::shared_ptr<LookCall> NewLook(size_t daemon, const std::string& name,
                                            LookCall::Done done) = 0;
};

}  // namespace lockkeeper::client
