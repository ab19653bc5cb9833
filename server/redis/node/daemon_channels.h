// SPDX-License-Identifier: Apache-2.0
//
// The daemons that listen at a Redis, and what the guard of one tells those of all.
#pragma once

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

// Tells all of them, also this daemon, that the marker begins with `stamp` now. Without an answer:
// who does not hear of it sees it with the next beat.
void TellOfMarker(Node& node, Route route, const std::string& pattern, const std::string& stamp);

// The stamp, if `message` is such a one.
std::optional<std::string_view> ReadMarkerMessage(std::string_view message);

}  // namespace lockkeeper::redis
