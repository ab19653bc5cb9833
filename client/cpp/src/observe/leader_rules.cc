// SPDX-License-Identifier: Apache-2.0
#include "observe/leader_rules.h"

#include <utility>

namespace lockkeeper::client {

using Outcome = LeaderRules::Outcome;

void LeaderRules::Begin(int64_t token) {
  newest_ = token;
  has_ended_ = false;
}

Outcome LeaderRules::Lead(std::optional<Leader> leader) {
  const bool changed = !std::exchange(known_, true) || leader_ != leader;
  leader_ = std::move(leader);
  return {.changed = changed};
}

Outcome LeaderRules::OnEvent(const LockEvent& event) {
  using Kind = LockEvent::Kind;
  switch (event.kind) {
    case Kind::kUnrelated:
      return {};
    case Kind::kStarted:
    case Kind::kMayMiss:
      return {.look = true};
    default:
      break;
  }

  const int64_t token = event.lease.fencing_token;
  if (token <= 0) return {.look = true};
  if (token < newest_) return {};
  switch (event.kind) {
    case Kind::kGranted:
      return OnGranted(event.lease);
    case Kind::kOffered:
      if (token == newest_) return {};
      Begin(token);
      overtaken_ = true;
      return Lead(std::nullopt);
    case Kind::kExtended:
      if (leader_ && leader_->fencing_token == token) return {};
      if (token > newest_) {
        Begin(token);
        overtaken_ = true;
      }
      return {.look = true};
    case Kind::kEnded: {
      const bool is_news = token > newest_ || !has_ended_ || leader_;
      newest_ = token;
      has_ended_ = true;
      if (is_news) overtaken_ = true;
      return Lead(std::nullopt);
    }
    default:
      // Its token was perhaps never granted, and is not remembered: it could be higher than all
      // that ever will be.
      return {.look = true};
  }
}

Outcome LeaderRules::OnGranted(const Leader& lease) {
  const bool is_new = lease.fencing_token > newest_;
  if (!is_new && has_ended_) return {};  // It comes late, or for the second time.
  if (is_new) Begin(lease.fencing_token);
  if (leader_ && leader_->fencing_token == lease.fencing_token) return {};
  overtaken_ = true;
  // A daemon that did not see the acquire does not know the owner; the store does.
  if (lease.owner.empty()) return {.look = true};
  return Lead(lease);
}

Outcome LeaderRules::OnLook(const LockLook& look) {
  using State = LockLook::State;
  if (overtaken_) return {.look = true};
  const int64_t token = look.lease.fencing_token;
  const bool is_old = token < newest_;
  if (token > newest_) Begin(token);

  if (look.state == State::kHeld) {
    if (is_old) return {};
    has_ended_ = false;
    return Lead(look.lease);
  }
  if (look.state == State::kUnproven || look.quarantine_left) {
    return {.look_after = look.quarantine_left};
  }
  if (look.state == State::kEnded || look.state == State::kNone) has_ended_ = true;
  return Lead(std::nullopt);
}

}  // namespace lockkeeper::client
