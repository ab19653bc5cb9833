// SPDX-License-Identifier: Apache-2.0
//
// What daemons tell each other of watched locks, as text on their channels. Texts of clients are
// preceded by their length.
//
//   W<daemon id> <version> <number of filters> {N|P}<length>:<text> ...
//   E<daemon id> <version> <stream> <first> <last> <number of events> <event> ...
//     an event: <kind> <token> <remaining us> <waited us> <position> <previous lease expired>
//     <lease>
//               <length>:<name> <length>:<owner> <length>:<principal>
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/watch_exchange.h"

namespace lockkeeper::redis {

std::string WriteInterest(const core::WatchInterest& interest);
std::string WriteBatch(const core::EventBatch& batch);

// Nothing if the message is another one, or damaged.
std::optional<core::WatchInterest> ReadInterest(std::string_view message);
std::optional<core::EventBatch> ReadBatch(std::string_view message);

}  // namespace lockkeeper::redis
