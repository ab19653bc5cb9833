// SPDX-License-Identifier: Apache-2.0
//
// The daemons of one service, and which of them is in use.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "transport/channels.h"
#include "transport/operation.h"
#include "transport/session_transport.h"
#include "transport/unary_transport.h"

namespace lockkeeper::client {

// Thread-safety: thread-safe, except destroying. Lifetime: borrows the ports.
class Daemons {
 public:
  using OnUnserved = std::function<void(const absl::Status& why)>;

  // `owner`: names the client for people. `on_unserved`: may be empty. `on_lease_ended`: is told of
  // leases that have ended, as in SessionTransport.
  Daemons(std::unique_ptr<Channels> channels, const SessionPorts& ports, const std::string& owner,
          OnUnserved on_unserved, const SessionTransport::LeaseEnded& on_lease_ended);
  // Requires: Close was called, or nothing is in flight.
  ~Daemons() = default;

  size_t size() const { return ways_.size(); }

  // Index of the daemon in use.
  size_t current() const { return channels_->current(); }

  // The connections to the daemon `number`.
  const Channels::Endpoint& endpoint(size_t number) const { return (*channels_)[number]; }

  // How to reach the daemon `number`.
  Transport& operator[](size_t number) { return *ways_[number]->way; }

  // The daemon `number` did not serve. Moves on to the next one, unless that was already done.
  void Failed(size_t number, const absl::Status& why) {
    channels_->Failed(number);
    if (on_unserved_) on_unserved_(why);
  }

  // The client has given the lease up without a release: no session keeps it any more.
  void Forget(const std::string& name, const std::string& lease_id);

  // Ends the operations in flight and waits until the last `done` has run. Must be the last call.
  void Close();

 private:
  struct Way {
    std::unique_ptr<UnaryTransport> unary;
    std::unique_ptr<SessionTransport> sessions;  // Null if sessions are not used.
    Transport* way = nullptr;
  };

  const std::unique_ptr<Channels> channels_;
  const OnUnserved on_unserved_;
  std::vector<std::unique_ptr<Way>> ways_;
};

}  // namespace lockkeeper::client
