// SPDX-License-Identifier: Apache-2.0
#include "transport/heartbeats.h"

#include <algorithm>
#include <utility>

#include "transport/convert.h"

namespace lockkeeper::client {

void Heartbeats::Granted(const v1::Lease& lease) {
  v1::Lease& kept = kept_[lease.lease_id()];
  kept = lease;
  kept.clear_reassertion();
  offered_.erase(lease.lease_id());
}

void Heartbeats::Extended(const v1::Lease& lease) {
  if (Knows(lease.lease_id())) Granted(lease);
}

void Heartbeats::Drop(const std::string& lease_id) {
  kept_.erase(lease_id);
  offered_.erase(lease_id);
}

bool Heartbeats::Carries(const v1::ExtendRequest& request) const {
  // A heartbeat extends by the ttl as granted.
  return !is_late_ && !request.has_ttl() && kept_.size() >= kHeartbeatLeasesMin &&
         kept_.contains(request.lease_id());
}

void Heartbeats::Add(uint64_t operation, const std::string& lease_id, Instant now) {
  const Duration ttl = FromProto(kept_.at(lease_id).ttl());
  const Instant at = now + std::min(kHeartbeatGatherMax, ttl / 60);
  due_ = std::min(due_.value_or(at), at);
  waiting_.push_back({operation, lease_id});
}

const std::vector<Heartbeats::Carried>& Heartbeats::Send(v1::SessionHeartbeat& heartbeat) {
  heartbeat.set_number(++last_number_);
  due_.reset();
  std::vector<Carried>& sent = sent_[last_number_];
  sent = TakeWaiting();
  return sent;
}

std::vector<Heartbeats::Carried> Heartbeats::TakeWaiting() {
  due_.reset();
  return std::exchange(waiting_, {});
}

std::vector<Heartbeats::Carried> Heartbeats::Answered(const v1::SessionHeartbeatResult& result) {
  is_late_ = false;
  for (const auto& [lease_id, proof] : result.reassertions()) proofs_[lease_id] = proof;
  for (const v1::SessionLeaseLost& lost : result.not_extended()) {
    not_extended_.insert(lost.lease_id());
  }
  if (result.more()) return {};
  std::vector<Carried> answered;
  // The answer is one for all heartbeats before it.
  for (auto round = sent_.begin(); round != sent_.end();) {
    if (round->first > result.number()) {
      ++round;
      continue;
    }
    std::move(round->second.begin(), round->second.end(), std::back_inserter(answered));
    round = sent_.erase(round);
  }
  for (Carried& each : answered) {
    const auto proof = proofs_.find(each.lease_id);
    const auto kept = kept_.find(each.lease_id);
    if (proof == proofs_.end() || kept == kept_.end()) continue;
    if (not_extended_.contains(each.lease_id)) continue;
    each.lease = kept->second;
    *each.lease->mutable_remaining_ttl() = kept->second.ttl();
    each.lease->set_reassertion(proof->second);
  }
  proofs_.clear();
  not_extended_.clear();
  return answered;
}

}  // namespace lockkeeper::client
