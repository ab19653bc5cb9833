// SPDX-License-Identifier: Apache-2.0
//
// Which daemons listen at a Redis, and the message by which a guard tells all of a new marker.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "redis/node/node.h"

namespace lockkeeper::redis {

// The channels on which somebody listens. Nothing: Redis did not tell, for want of a right perhaps.
using FoundChannels = std::optional<std::vector<std::string>>;

// Asks for those that match `pattern`, at the server that `route` leads to.
void FindDaemonChannels(Node& node, Route route, const std::string& pattern,
                        absl::AnyInvocable<void(FoundChannels) &&> done);

// Publishes a message. `done` runs when Redis has it, or it failed.
void Publish(Node& node, Route route, const std::string& channel, std::string_view message,
             absl::AnyInvocable<void() &&> done);

// Tells all daemons, also this one. `done`: how many there are, when the messages are on their way;
// 0 if that is not known, and nobody was told.
void TellDaemons(Node& node, Route route, const std::string& pattern, std::string message,
                 absl::AnyInvocable<void(size_t daemons) &&> done);

// Tells all daemons, also this one, that the marker begins with `stamp` now. Nobody waits for an
// answer: a daemon that misses the message sees the marker with its next beat.
void TellOfMarker(Node& node, Route route, const std::string& pattern, const std::string& stamp);

// The stamp in a message of TellOfMarker. Nothing in any other message.
std::optional<std::string_view> ReadMarkerMessage(std::string_view message);

}  // namespace lockkeeper::redis
