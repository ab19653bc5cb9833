// SPDX-License-Identifier: Apache-2.0
#include "redis/node/daemon_channels.h"

#include <utility>

#include "redis/node/command.h"

namespace lockkeeper::redis {
namespace {

constexpr char kMarkerLetter = 'M';

}  // namespace

void FindDaemonChannels(Node& node, Route route, const std::string& pattern,
                        absl::AnyInvocable<void(FoundChannels) &&> done) {
  Command channels(3);
  channels.Word("PUBSUB").Word("CHANNELS").Word(pattern);
  node.Send(route, std::move(channels),
            [done = std::move(done)](absl::StatusOr<Reply> reply) mutable {
              if (!reply.ok() || reply->type != Reply::Type::kArray)
                return std::move(done)(std::nullopt);
              std::vector<std::string> found;
              for (Reply& channel : reply->items) found.push_back(std::move(channel.text));
              std::move(done)(std::move(found));
            });
}

void TellOfMarker(Node& node, Route route, const std::string& pattern, const std::string& stamp) {
  FindDaemonChannels(node, route, pattern, [&node, route, stamp](const FoundChannels& channels) {
    if (!channels) return;
    for (const std::string& channel : *channels) {
      Command tell(3);
      tell.Word("PUBLISH").Word(channel).Word(kMarkerLetter + stamp);
      node.Send(route, std::move(tell), [](const absl::StatusOr<Reply>&) {});
    }
  });
}

std::optional<std::string_view> ReadMarkerMessage(std::string_view message) {
  if (message.empty() || message.front() != kMarkerLetter) return std::nullopt;
  return message.substr(1);
}

}  // namespace lockkeeper::redis
