// SPDX-License-Identifier: Apache-2.0
#include "redis/format/line_message.h"

#include <algorithm>
#include <sstream>

namespace lockkeeper::redis {
namespace {

// Words of a message in front of the key: of an offer, and of the release of a waiter.
constexpr int kOfferWords = 7;
constexpr int kReleasedWords = 2;

// Where the first `count` words of `text` end; its size if it has fewer.
size_t EndOfWords(std::string_view text, int count) {
  size_t end = std::string_view::npos;
  for (int i = 0; i < count; ++i) {
    end = text.find(' ', end == std::string_view::npos ? 0 : end + 1);
    if (end == std::string_view::npos) return text.size();
  }
  return end;
}

}  // namespace

std::optional<core::Offer> ReadOffer(std::string_view text, std::string_view name) {
  if (text.empty()) return std::nullopt;  // As in nearly every poll.
  std::istringstream words{std::string(text)};
  std::string lease_id_text, previous, keeper_text;
  int64_t token = 0, remaining = 0, ttl = 0;
  int32_t attempt = 0;
  if (!(words >> lease_id_text >> token >> remaining >> ttl >> previous >> attempt >>
        keeper_text)) {
    return std::nullopt;
  }
  const auto lease_id = core::LeaseId::Parse(lease_id_text);
  const auto keeper = core::Keeper::Parse(keeper_text);
  if (!lease_id || !keeper) return std::nullopt;
  return core::Offer{.name = std::string(name),
                     .lease_id = *lease_id,
                     .token = core::FencingToken{token},
                     .remaining = core::Micros(remaining),
                     .ttl = core::Millis(ttl),
                     .previous_lease_expired = previous == "X",
                     .attempt = attempt,
                     .keeper = *keeper};
}

// A letter, the lease id, what is to be said, and the key of the record.
std::optional<LineMessage> ReadLineMessage(std::string_view message, const KeyLayout& keys) {
  if (message.empty()) return std::nullopt;
  const bool is_offer = message.front() == 'O';
  message.remove_prefix(1);
  const size_t key_at = EndOfWords(message, is_offer ? kOfferWords : kReleasedWords);
  const auto name = keys.LockName(message.substr(std::min(key_at + 1, message.size())));
  const auto lease_id = core::LeaseId::Parse(message.substr(0, core::HexId::kLength));
  if (!name || !lease_id) return std::nullopt;
  LineMessage said{*name, *lease_id, std::nullopt};
  if (!is_offer) return said;
  said.offer = ReadOffer(message.substr(0, key_at), *name);
  return said.offer ? std::optional(said) : std::nullopt;
}

}  // namespace lockkeeper::redis
