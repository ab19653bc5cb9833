// SPDX-License-Identifier: Apache-2.0
//
// Decides whether a store without a marker is new, or was emptied a moment ago. It is not new if it
// has records of locks. It is not new yet if a daemon that knows the store may be running: such a
// daemon checks the store every second and writes a marker, so the check waits for it.
#pragma once

#include <memory>
#include <string>

#include "absl/functional/any_invocable.h"
#include "core/clock.h"
#include "redis/node/node.h"

namespace lockkeeper::redis {

struct NewStoreCheckOptions {
  std::string record_pattern;   // Of SCAN: every record.
  std::string channel_pattern;  // Of PUBSUB CHANNELS: the channel of every daemon.
  std::string own_channel;      // That of this daemon, which does not count.
  int scans_max = 1'000;        // Of 1,000 keys each; a store with more keys is not taken for new.
  // Time that daemons have to reach a server that has started, and to look at its store. 0: none
  // is waited for.
  core::Millis wait{0};
};

struct StoreFinding {
  enum class Kind {
    kNew,
    kHasRecords,
    kTooManyKeys,  // So many that not all were searched for records; none was found.
    kTooEarly,     // A daemon that knew the store could still say so: ask again soon.
    kFailed,
  };
  Kind kind;
  std::string refusal;  // What Redis answered instead; empty if it did not answer.
};

// Thread-safety: loop-thread only. Lifetime: borrows its collaborators.
class NewStoreCheck {
 public:
  using Done = absl::AnyInvocable<void(StoreFinding) &&>;

  NewStoreCheck(Node& node, const core::Clock& clock, NewStoreCheckOptions options);
  ~NewStoreCheck();
  NewStoreCheck(const NewStoreCheck&) = delete;
  NewStoreCheck& operator=(const NewStoreCheck&) = delete;

  // The store of the server `life`, which `route` leads to, has just been seen without a marker, at
  // `now` of its clock. `done` runs inside this call or later, unless this object ends before.
  void Ask(Route route, const NodeLife& life, core::NodeTime now, Done done);

  core::Millis wait() const { return options_.wait; }

 private:
  bool HasBeenWatched(const NodeLife& life);
  void LookForDaemons(Route route, Done done);
  void LookForRecords(Route route, Done done, const std::string& cursor, int scans);

  Node& node_;
  const core::Clock& clock_;
  const NewStoreCheckOptions options_;
  // Of the looks that found no marker, each soon after the one before.
  std::string run_id_;
  core::Instant first_look_;
  core::Instant last_look_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace lockkeeper::redis
