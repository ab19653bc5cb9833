// SPDX-License-Identifier: Apache-2.0
#include "redis/client/subscription.h"

#include <utility>

#include "redis/node/command.h"

namespace lockkeeper::redis {
namespace {

ConnectionOptions WithListener(ConnectionOptions options, MessageListener listener) {
  options.on_message = std::move(listener);
  return options;
}

}  // namespace

Subscription::Subscription(loop::EventLoop& loop, ConnectionOptions options, loop::Backoff backoff,
                           std::string channel, MessageListener listener)
    : channel_(std::move(channel)),
      connection_(loop, WithListener(std::move(options), std::move(listener)), std::move(backoff),
                  *this) {}

void Subscription::OnReady(ReconnectingConnection& connection, const ServerFacts&) {
  Command subscribe(2);
  subscribe.Word("SUBSCRIBE").Word(channel_);
  // An error is no loss: the waiters of this daemon are found by polls, and served later.
  connection.Send(subscribe.wire(), [](absl::StatusOr<Reply>) {});
}

}  // namespace lockkeeper::redis
