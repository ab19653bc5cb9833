// SPDX-License-Identifier: Apache-2.0
#include "redis/watch_channels.h"

#include <utility>

#include "redis/format/watch_message.h"
#include "redis/node/command.h"
#include "redis/node/daemon_channels.h"

namespace lockkeeper::redis {

void WatchChannels::TellInterest(const core::WatchInterest& interest,
                                 absl::AnyInvocable<void(size_t daemons) &&> done) {
  FindDaemonChannels(node_, node_.AnyRoute(), keys_.ChannelPattern(),
                     [this, message = WriteInterest(interest),
                      done = std::move(done)](const FoundChannels& channels) mutable {
                       if (!channels) return std::move(done)(0);
                       for (const std::string& channel : *channels) {
                         Publish(channel, message, [] {});
                       }
                       std::move(done)(channels->size());
                     });
}

void WatchChannels::Send(const std::string& to, const core::EventBatch& batch,
                         absl::AnyInvocable<void() &&> done) {
  Publish(keys_.ChannelPrefix() + to, WriteBatch(batch), std::move(done));
}

void WatchChannels::Publish(const std::string& channel, const std::string& message,
                            absl::AnyInvocable<void() &&> done) {
  node_.Send(node_.AnyRoute(), Command::Of({"PUBLISH", channel, message}),
             [done = std::move(done)](const absl::StatusOr<Reply>&) mutable { std::move(done)(); });
}

bool WatchChannels::OnMessage(std::string_view message) {
  if (auto interest = ReadInterest(message)) {
    if (listener_ != nullptr) listener_->OnInterest(std::move(*interest));
    return true;
  }
  if (auto batch = ReadBatch(message)) {
    if (listener_ != nullptr) listener_->OnBatch(std::move(*batch));
    return true;
  }
  return false;
}

}  // namespace lockkeeper::redis
