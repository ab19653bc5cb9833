// SPDX-License-Identifier: Apache-2.0
#include "redis/client/subscription.h"

#include <utility>

#include "redis/node/command.h"

namespace lockkeeper::redis {
namespace {

ConnectionOptions WithListener(ConnectionOptions options, Subscription::Listener listener) {
  options.on_message = std::move(listener);
  return options;
}

}  // namespace

Subscription::Subscription(loop::EventLoop& loop, ConnectionOptions options, loop::Backoff backoff,
                           std::vector<std::string> channels, Listener listener)
    : channels_(std::move(channels)),
      connection_(loop, WithListener(std::move(options), std::move(listener)), std::move(backoff),
                  *this) {}

// A reply for each channel comes, so each has a command of its own.
void Subscription::OnReady(ReconnectingConnection& connection, const ServerFacts&) {
  for (const std::string& channel : channels_) {
    // An error is no loss: the waiters of this daemon are found by polls, and served later.
    connection.Send(Command::Of({"SUBSCRIBE", channel}).wire(), [](absl::StatusOr<Reply>) {});
  }
}

}  // namespace lockkeeper::redis
