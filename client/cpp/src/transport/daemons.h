// SPDX-License-Identifier: Apache-2.0
//
// The daemons of one service, and the one of them that is used now.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "transport/channels.h"
#include "transport/operation.h"
#include "transport/session_operations.h"
#include "transport/unary_operations.h"

namespace lockkeeper::client {

// Thread-safety: thread-safe, but for destroying. Lifetime: borrows the ports.
class Daemons {
 public:
  using OnUnserved = std::function<void(const absl::Status& why)>;

  // `owner`: names the client for people. `on_unserved`: may be empty.
  Daemons(std::unique_ptr<Channels> channels, const SessionPorts& ports, const std::string& owner,
          OnUnserved on_unserved);
  // Requires: nothing is under way, see Close.
  ~Daemons() = default;

  size_t size() const { return ways_.size(); }

  // Number of the daemon to use now.
  size_t current() const { return channels_->current(); }

  // The way to it.
  Operations& operator[](size_t number) { return *ways_[number]->way; }

  // The daemon `number` did not serve: the next one is used, unless that was already done.
  void Failed(size_t number, const absl::Status& why) {
    channels_->Failed(number);
    if (on_unserved_) on_unserved_(why);
  }

  // Ends what is under way and waits until the last `done` has run. No call may come after it.
  void Close();

 private:
  struct Way {
    std::unique_ptr<UnaryOperations> unary;
    std::unique_ptr<SessionOperations> sessions;  // Null: not used.
    Operations* way = nullptr;
  };

  const std::unique_ptr<Channels> channels_;
  const OnUnserved on_unserved_;
  std::vector<std::unique_ptr<Way>> ways_;
};

}  // namespace lockkeeper::client
