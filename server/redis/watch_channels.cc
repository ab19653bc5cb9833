// SPDX-License-Identifier: Apache-2.0
#include "redis/watch_channels.h"

#include <utility>

#include "redis/format/watch_message.h"
#include "redis/node/daemon_channels.h"

namespace lockkeeper::redis {

void WatchChannels::TellInterest(const core::WatchInterest& interest,
                                 absl::AnyInvocable<void(size_t daemons) &&> done) {
  TellDaemons(node_, node_.AnyRoute(), keys_.ChannelPattern(), WriteInterest(interest),
              std::move(done));
}

void WatchChannels::Send(const std::string& to, const core::EventBatch& batch,
                         absl::AnyInvocable<void() &&> done) {
  Publish(node_, node_.AnyRoute(), keys_.ChannelPrefix() + to, WriteBatch(batch), std::move(done));
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
