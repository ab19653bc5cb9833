// SPDX-License-Identifier: Apache-2.0
#include "redis/sentinel/primary_election.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string_view>
#include <utility>

#include "text/number.h"

namespace lockkeeper::redis {
namespace {

constexpr int64_t kPortMax = std::numeric_limits<uint16_t>::max();
constexpr int64_t kSentinelsMax = 1'000;

std::optional<ServerAddress> AddressOf(std::string_view host, std::string_view port) {
  const auto number = text::ParseNumber(port, kPortMax);
  if (host.empty() || !number || *number == 0) return std::nullopt;
  return ServerAddress{std::string(host), static_cast<uint16_t>(*number)};
}

}  // namespace

Election Elect(std::span<const SentinelView> views, const ElectionRules& rules) {
  // One Sentinel may be reached by two addresses.
  std::map<std::string_view, const SentinelView*> newest;
  for (const SentinelView& view : views) {
    const SentinelView*& of_id = newest[view.id];
    if (view.asked >= rules.oldest && (of_id == nullptr || view.asked > of_id->asked))
      of_id = &view;
  }
  std::erase_if(newest, [](const auto& entry) { return entry.second == nullptr; });
  Election election{.heard = newest.size(), .known = std::max<size_t>(rules.named, 1)};
  if (rules.newest) election.config_epoch = rules.newest->config_epoch;
  std::map<ServerAddress, size_t> votes;  // With the highest config epoch.
  for (const auto& [id, view] : newest) {
    election.known = std::max(election.known, view->sentinels);
    if (view->config_epoch > election.config_epoch) votes.clear();
    election.config_epoch = std::max(election.config_epoch, view->config_epoch);
    if (view->config_epoch == election.config_epoch) ++votes[view->primary];
  }
  election.needed = rules.majority == Majority::kNeeded ? election.known / 2 + 1 : 1;
  if (election.heard < election.needed) return election;
  if (votes.empty()) {
    if (rules.newest) election.primary = rules.newest->address;
    return election;
  }
  const auto most =
      std::ranges::max_element(votes, {}, &std::pair<const ServerAddress, size_t>::second);
  const auto current = rules.current ? votes.find(*rules.current) : votes.end();
  const bool stays = current != votes.end() && current->second == most->second;
  election.primary = stays ? current->first : most->first;
  return election;
}

Election Elections::Hold(std::span<const SentinelView> views, core::Instant now,
                         const std::optional<ServerAddress>& current) {
  if (newest_ && now >= heard_ + times_.Isolation()) newest_.reset();
  Election election = Elect(views, {.oldest = now - times_.answer_lifetime,
                                    .named = named_,
                                    .majority = majority_,
                                    .current = current,
                                    .newest = newest_});
  if (!election.primary) return election;
  if (!newest_ || election.config_epoch > newest_->config_epoch) heard_ = core::Instant::min();
  newest_ = {.address = *election.primary, .config_epoch = election.config_epoch};
  for (const SentinelView& view : views) {
    if (view.config_epoch == election.config_epoch) heard_ = std::max(heard_, view.asked);
  }
  return election;
}

std::optional<ServiceState> ReadServiceState(const Reply& reply) {
  const auto epoch =
      text::ParseNumber(ValueIn(reply, "config-epoch"), std::numeric_limits<int64_t>::max());
  const auto others = text::ParseNumber(ValueIn(reply, "num-other-sentinels"), kSentinelsMax);
  if (reply.type != Reply::Type::kArray || !epoch || !others) return std::nullopt;
  return ServiceState{*epoch, static_cast<size_t>(*others) + 1};
}

std::optional<ServerAddress> ReadPrimaryAddress(const Reply& reply) {
  if (reply.type != Reply::Type::kArray || reply.items.size() != 2) return std::nullopt;
  return AddressOf(reply.items[0].text, reply.items[1].text);
}

std::vector<OtherSentinel> ReadOtherSentinels(const Reply& reply) {
  std::vector<OtherSentinel> others;
  if (reply.type != Reply::Type::kArray) return others;
  for (const Reply& one : reply.items) {
    const auto address = AddressOf(ValueIn(one, "ip"), ValueIn(one, "port"));
    const std::string_view id = ValueIn(one, "runid");
    if (!address || id.empty()) continue;
    others.push_back({std::string(id), *address});
    if (others.size() == kSentinelsMax) break;
  }
  return others;
}

}  // namespace lockkeeper::redis
