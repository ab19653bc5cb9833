// SPDX-License-Identifier: Apache-2.0
//
// Tells other daemons of watches and of what happens to watched locks, on the channels on which
// they hear of their waiters.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/watch_exchange.h"
#include "redis/format/key_layout.h"
#include "redis/node/node.h"

namespace lockkeeper::redis {

// Thread-safety: loop-thread only. Lifetime: borrows `node`.
class WatchChannels final : public core::WatchExchange {
 public:
  WatchChannels(Node& node, const KeyLayout& keys) : node_(node), keys_(keys) {}

  void Listen(core::WatchExchangeListener& listener) override { listener_ = &listener; }
  void TellInterest(const core::WatchInterest& interest,
                    absl::AnyInvocable<void(size_t daemons) &&> done) override;
  void Send(const std::string& to, const core::EventBatch& batch,
            absl::AnyInvocable<void() &&> done) override;

  // A message on the daemon's channel. False if it is not of this kind.
  bool OnMessage(std::string_view message);

 private:
  Node& node_;
  const KeyLayout keys_;
  core::WatchExchangeListener* listener_ = nullptr;
};

}  // namespace lockkeeper::redis
