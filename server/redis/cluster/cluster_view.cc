// SPDX-License-Identifier: Apache-2.0
#include "redis/cluster/cluster_view.h"

#include <algorithm>
#include <limits>

#include "redis/cluster/slot.h"
#include "text/number.h"

namespace lockkeeper::redis {
namespace {

constexpr int64_t kPortMax = 65'535;

// Columns of a line of CLUSTER NODES; the slots follow.
enum Column : size_t {
  kId,
  kAddress,
  kFlags,
  kPrimary,
  kPinged,
  kPonged,
  kEpoch,
  kLink,
  kFirstSlot
};

// What is between the separators; never empty.
std::vector<std::string_view> SplitAt(char separator, std::string_view text) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

struct HostPort {
  std::string_view host;
  uint16_t port = 0;
};

// "10.0.0.1:6379"; an IPv6 address has no brackets here.
std::optional<HostPort> ReadHostPort(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto port = text::ParseNumber(text.substr(colon + 1), kPortMax);
  if (!port) return std::nullopt;
  return HostPort{text.substr(0, colon), static_cast<uint16_t>(*port)};
}

// "10.0.0.1:6379@16379,hostname,aux=..."; certificates are for names, where there are some.
std::optional<HostPort> ReadAddress(std::string_view text, bool prefers_name) {
  std::optional<HostPort> address = ReadHostPort(text.substr(0, text.find_first_of("@,")));
  const size_t comma = text.find(',');
  if (!address || comma == std::string_view::npos || !prefers_name) return address;
  const std::string_view name = text.substr(comma + 1, text.find(',', comma + 1) - comma - 1);
  if (!name.empty() && name.find('=') == std::string_view::npos) address->host = name;
  return address;
}

// "5", "0-100"; "[5->-..." is a slot on its way, which the server still claims. Nothing else is a
// range.
std::optional<std::pair<uint16_t, uint16_t>> ReadRange(std::string_view text) {
  const size_t dash = text.find('-');
  const auto slot = [](std::string_view number) {
    return text::ParseNumber(number, static_cast<int64_t>(kSlots) - 1);
  };
  const auto first = slot(text.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : slot(text.substr(dash + 1));
  if (!first || !last || *first > *last) return std::nullopt;
  return std::pair(static_cast<uint16_t>(*first), static_cast<uint16_t>(*last));
}

bool HasFlag(std::string_view flags, std::string_view wanted) {
  const std::vector<std::string_view> all = SplitAt(',', flags);
  return std::find(all.begin(), all.end(), wanted) != all.end();
}

}  // namespace

bool ClusterPrimary::Claims(uint16_t slot) const {
  return std::any_of(slots.begin(), slots.end(), [slot](const auto& range) {
    return range.first <= slot && slot <= range.second;
  });
}

std::optional<ClusterView> ReadClusterNodes(std::string_view text, const RedisUrl& asked) {
  ClusterView view;
  bool knows_itself = false;
  for (const std::string_view line : SplitAt('\n', text)) {
    if (line.empty()) continue;
    const std::vector<std::string_view> columns = SplitAt(' ', line);
    if (columns.size() < kFirstSlot) return std::nullopt;
    const std::string_view flags = columns[kFlags];
    const bool is_asked = HasFlag(flags, "myself");
    knows_itself = knows_itself || is_asked;
    const auto address = ReadAddress(columns[kAddress], asked.tls);
    const auto epoch = text::ParseNumber(columns[kEpoch], std::numeric_limits<int64_t>::max());
    if (!address || !epoch) return std::nullopt;
    if (!HasFlag(flags, "master") || HasFlag(flags, "fail") || HasFlag(flags, "handshake") ||
        HasFlag(flags, "noaddr")) {
      continue;
    }
    ClusterPrimary primary{.id = std::string(columns[kId]),
                           .host = std::string(address->host),
                           .port = address->port,
                           .epoch = *epoch};
    if (is_asked && primary.host.empty()) primary.host = asked.host;
    for (size_t i = kFirstSlot; i < columns.size(); ++i) {
      if (const auto range = ReadRange(columns[i])) primary.slots.push_back(*range);
    }
    if (!primary.host.empty() && primary.port != 0) view.primaries.push_back(std::move(primary));
  }
  if (!knows_itself) return std::nullopt;
  return view;
}

const ClusterPrimary* OwnerOf(uint16_t slot, const std::vector<const ClusterView*>& views) {
  const ClusterPrimary* owner = nullptr;
  for (const ClusterView* view : views) {
    for (const ClusterPrimary& primary : view->primaries) {
      if (!primary.Claims(slot)) continue;
      if (owner == nullptr || primary.epoch > owner->epoch) owner = &primary;
    }
  }
  return owner;
}

std::optional<Redirection> ReadRedirection(std::string_view error) {
  const std::vector<std::string_view> words = SplitAt(' ', error);
  if (words.size() != 3) return std::nullopt;
  const auto slot = text::ParseNumber(words[1], static_cast<int64_t>(kSlots) - 1);
  const auto address = ReadHostPort(words[2]);
  if (!slot || !address || address->port == 0) return std::nullopt;
  return Redirection{static_cast<uint16_t>(*slot), std::string(address->host), address->port};
}

}  // namespace lockkeeper::redis
