// SPDX-License-Identifier: Apache-2.0
#include "simulation/judge.h"

#include <algorithm>
#include <utility>

namespace lockkeeper::simulation {

void Judge::Violation(std::string what) { violations_.push_back(std::move(what)); }

void Judge::Granted(const std::string& lock, int64_t token, Instant asked, Instant now) {
  ++grants_;
  Lock& state = locks_[lock];
  // Tokens rise over grants that do not overlap: all that were heard of before this one was asked
  // for have to be lower.
  const auto later = std::upper_bound(
      state.returned.begin(), state.returned.end(), asked,
      [](Instant time, const std::pair<Instant, int64_t>& entry) { return time < entry.first; });
  if (later != state.returned.begin() && std::prev(later)->second >= token) {
    Violation("token " + std::to_string(token) + " of " + lock + " is not above " +
              std::to_string(std::prev(later)->second) + ", which was granted before");
  }
  const int64_t highest = state.returned.empty() ? 0 : state.returned.back().second;
  state.returned.emplace_back(now, std::max(highest, token));
}

void Judge::BeliefBegan(const std::string& lock, int client, int64_t token, Instant) {
  Lock& state = locks_[lock];
  if (state.believer >= 0) {
    Violation("clients " + std::to_string(state.believer) + " and " + std::to_string(client) +
              " hold " + lock + " at the same time, tokens " + std::to_string(state.belief_token) +
              " and " + std::to_string(token));
  }
  state.believer = client;
  state.belief_token = token;
}

void Judge::BeliefEnded(const std::string& lock, int client, int64_t token) {
  Lock& state = locks_[lock];
  if (state.believer == client && state.belief_token == token) state.believer = -1;
}

void Judge::TurnGiven(const std::string& lock, const std::string& lease_id, int64_t token,
                      Instant now) {
  Lock& state = locks_[lock];
  if (token <= state.given_token) {
    Violation("the store gave " + lock + " the token " + std::to_string(token) + " after " +
              std::to_string(state.given_token));
  }
  state.given_token = std::max(state.given_token, token);
  const auto own = state.numbers.find(lease_id);
  for (const auto& [other_id, other] : state.line) {
    if (other_id == lease_id) continue;
    if (own != state.numbers.end() && other.number > own->second) continue;
    const auto disturbed = disturbed_until_.find(other.daemon);
    if (disturbed != disturbed_until_.end() && now < disturbed->second) continue;
    Violation(lease_id.substr(0, 8) + " was given " + lock + " before " + other_id.substr(0, 8) +
              ", which had come before");
  }
  // It has had its turn. If it does not use it, it is for its daemon to stand again.
  state.line.erase(lease_id);
}

void Judge::Joined(const std::string& lock, const std::string& lease_id, int64_t number,
                   int daemon) {
  locks_[lock].line[lease_id] = {number, daemon};
  locks_[lock].numbers[lease_id] = number;
}

void Judge::Left(const std::string& lock, const std::string& lease_id) {
  locks_[lock].line.erase(lease_id);
}

void Judge::Disturbed(int daemon, Instant until) {
  Instant& known = disturbed_until_[daemon];
  known = std::max(known, until);
}

void Judge::CallAsked(uint64_t call) { calls_[call] = 0; }

void Judge::CallAnswered(uint64_t call) {
  const auto found = calls_.find(call);
  if (found == calls_.end()) return;
  if (++found->second > 1) Violation("call " + std::to_string(call) + " was answered twice");
}

void Judge::CallGone(uint64_t call) { calls_.erase(call); }

void Judge::Remains(int64_t keys_in_store, size_t outstanding) {
  if (keys_in_store != 0) Violation(std::to_string(keys_in_store) + " keys remain in the store");
  if (outstanding != 0) Violation(std::to_string(outstanding) + " operations never ended");
  const auto unanswered = std::count_if(calls_.begin(), calls_.end(),
                                        [](const auto& call) { return call.second == 0; });
  if (unanswered != 0) Violation(std::to_string(unanswered) + " calls were never answered");
}

}  // namespace lockkeeper::simulation
