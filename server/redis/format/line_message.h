// SPDX-License-Identifier: Apache-2.0
//
// What scripts/line.lua tells a daemon of its waiters, on the daemon's channel or in a reply.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/waiting_line.h"
#include "redis/format/key_layout.h"

namespace lockkeeper::redis {

// Of one waiter: it is offered the lock, or its lease id was released.
struct LineMessage {
  std::string name;
  core::LeaseId lease_id;
  std::optional<core::Offer> offer;
};

// Reads a message of the channel. Nothing if it is not one that the scripts write.
std::optional<LineMessage> ReadLineMessage(std::string_view message, const KeyLayout& keys);

// Reads "<lease id> <token> <remaining us> <ttl ms> <previous> <attempt> <keeper>". Nothing if
// `text` is not that.
std::optional<core::Offer> ReadOffer(std::string_view text, std::string_view name);

}  // namespace lockkeeper::redis
