// SPDX-License-Identifier: Apache-2.0
//
// Who leads, for a program that does not campaign itself: a gateway that routes to the leader, a
// dashboard. Made by Client::Observe. client/README.md, "Observing a leader", has the rules.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"

namespace lockkeeper {

namespace client {
class Observation;
}  // namespace client

// The holder of the lock.
struct Leader {
  int64_t fencing_token = 0;  // The term: every leader has a higher one than those before.
  std::string owner{};        // Names it for people, as it says itself. Empty if not known.
  std::string principal{};    // Authenticated identity. Empty if it was anonymous or is not known.

  bool operator==(const Leader&) const = default;
};

// Who is told. The callbacks run one after the other, on a thread of the observer's own; while one
// runs nothing more is heard. They must not throw.
struct ObserveOptions {
  // Runs when the leader is known for the first time, and at each change. Nothing: nobody leads.
  // May be empty.
  std::function<void(const std::optional<Leader>& leader)> on_change{};

  // Runs with each error of the observation, which then goes on. Empty: a line on stderr.
  std::function<void(const absl::Status& error)> on_error{};
};

// Tells who holds a lock. What it tells is a little late, always: protect a resource by the fencing
// token, never by an observer.
//
// Thread-safety: thread-safe, except moving and destroying. Its callbacks may call it. Lifetime:
// may outlive its Client.
class [[nodiscard]] LeaderObserver {
 public:
  explicit LeaderObserver(std::unique_ptr<client::Observation> observation);  // For the client.
  LeaderObserver(LeaderObserver&&) noexcept;
  LeaderObserver& operator=(LeaderObserver&&) = delete;
  // Closes, and waits until a callback that runs has returned. Requires: not called from a
  // callback.
  ~LeaderObserver();
  LeaderObserver(const LeaderObserver&) = delete;
  LeaderObserver& operator=(const LeaderObserver&) = delete;

  // The last leader that is known, also while no daemon can be reached. Nothing: nobody leads, or
  // that is not known yet.
  std::optional<Leader> leader() const;

  // Ends the observation. Does not wait for a callback that runs or is about to; the destructor
  // does.
  void Close();

 private:
  std::unique_ptr<client::Observation> observation_;
};

}  // namespace lockkeeper
