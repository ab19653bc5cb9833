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

void Publish(Node& node, Route route, const std::string& channel, std::string_view message,
             absl::AnyInvocable<void() &&> done) {
  node.Send(route, Command::Of({"PUBLISH", channel, message}),
            [done = std::move(done)](const absl::StatusOr<Reply>&) mutable { std::move(done)(); });
}

void TellDaemons(Node& node, Route route, const std::string& pattern, std::string message,
                 absl::AnyInvocable<void(size_t daemons) &&> done) {
  FindDaemonChannels(node, route, pattern,
                     [&node, route, message = std::move(message),
                      done = std::move(done)](const FoundChannels& channels) mutable {
                       if (!channels) return std::move(done)(0);
                       for (const std::string& channel : *channels) {
                         Publish(node, route, channel, message, [] {});
                       }
                       std::move(done)(channels->size());
                     });
}

void TellOfMarker(Node& node, Route route, const std::string& pattern, const std::string& stamp) {
  TellDaemons(node, route, pattern, kMarkerLetter + stamp, [](size_t) {});
}

std::optional<std::string_view> ReadMarkerMessage(std::string_view message) {
  if (message.empty() || message.front() != kMarkerLetter) return std::nullopt;
  return message.substr(1);
}

}  // namespace lockkeeper::redis
