// SPDX-License-Identifier: Apache-2.0
//
// Leader election: a candidate campaigns for a lock, leads while it holds the lease, and campaigns
// again when its term is over. Made by Client::Lead. client/README.md, "Leadership", has the rules.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>

#include "absl/status/status.h"
#include "lockkeeper/lease.h"
#include "lockkeeper/options.h"

namespace lockkeeper {

namespace client {
class Campaign;
}  // namespace client

// How to campaign, and who is told. Only on_elected is needed.
struct LeadOptions {
  // Without wait_timeout, lease_id and cancel.
  AcquireOptions acquire{};

  // Runs at the beginning of each term, on a thread of the candidate's own; the fencing token of
  // the lease is the number of the term. A stop of `term_over` is requested when the term ends. OK:
  // the term goes on when this returns. An error: on_error is told, and the candidate resigns and
  // campaigns again after one ttl. Must not throw.
  std::function<absl::Status(const Lease& lease, std::stop_token term_over)> on_elected{};

  // Runs when the lease is lost, before it ends; not after Resign or Close. On the client's
  // callback thread, so return soon. May be empty.
  std::function<void(const Loss& loss)> on_lost{};

  // Runs with each error of the campaign, which then goes on, and with those of on_elected, on the
  // candidate's thread. Empty: a line on stderr.
  std::function<void(const absl::Status& error)> on_error{};
};

// A candidate.
//
// Thread-safety: thread-safe, except moving and destroying. Its callbacks may call it. Lifetime:
// may outlive its Client.
class [[nodiscard]] Leadership {
 public:
  explicit Leadership(std::unique_ptr<client::Campaign> campaign);  // For the client.
  Leadership(Leadership&&) noexcept;
  Leadership& operator=(Leadership&&) = delete;
  // Closes, and waits until on_elected has returned. Requires: not called from a callback.
  ~Leadership();
  Leadership(const Leadership&) = delete;
  Leadership& operator=(const Leadership&) = delete;

  // Whether this candidate leads now.
  bool is_leader() const { return term() != 0; }

  // The fencing token of this candidate's term. 0 while it does not lead.
  int64_t term() const;

  // Ends the term, so that the next candidate in line takes over: stop the work first. This one
  // campaigns again, behind those who wait. Blocks and fails as Lease::Release does. OK if it does
  // not lead.
  absl::Status Resign();

  // Resigns, or ends the campaign, for good. Does not wait for on_elected. Blocks and fails as
  // Resign does.
  absl::Status Close();

 private:
  std::unique_ptr<client::Campaign> campaign_;
};

}  // namespace lockkeeper
