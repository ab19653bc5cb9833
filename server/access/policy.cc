// SPDX-License-Identifier: Apache-2.0
#include "access/policy.h"

#include <algorithm>

#include "absl/strings/str_replace.h"

namespace lockkeeper::access {
namespace {

constexpr std::array<std::string_view, kVerbs> kVerbNames = {
    "acquire", "extend",        "release",        "fence", "inspect",
    "list",    "force-release", "end-quarantine", "drain", "admin"};

bool Matches(const Binding& binding, const Identity& identity) {
  if (!binding.proofs.empty() && !binding.proofs.contains(identity.proof)) return false;
  if (!binding.issuers.empty() &&
      (identity.proof != Proof::kJwt || std::find(binding.issuers.begin(), binding.issuers.end(),
                                                  identity.issuer) == binding.issuers.end())) {
    return false;
  }
  return std::any_of(
      binding.principals.begin(), binding.principals.end(),
      [&](const std::string& pattern) { return MatchesPattern(identity.principal, pattern); });
}

// `text` with the principal in place of the placeholder. What ends a folder in a lock's name, or
// may not stand in one, is percent-encoded: no principal reaches into the folder of another.
std::string Expand(const std::string& text, std::string_view principal) {
  const std::string encoded =
      absl::StrReplaceAll(absl::string_view(principal.data(), principal.size()),
                          {{"%", "%25"}, {"/", "%2F"}, {"{", "%7B"}, {"}", "%7D"}});
  return absl::StrReplaceAll(text, {{kPrincipalPlaceholder.data(), encoded}});
}

template <typename Limit>
void TakeLarger(std::optional<Limit>& mine, const std::optional<Limit>& other) {
  if (other && (!mine || *mine < *other)) mine = other;
}

template <typename Limit>
void TakeIfNone(std::optional<Limit>& mine, const std::optional<Limit>& other) {
  if (!mine) mine = other;
}

// Calls `each` with every quota of both.
template <typename Each>
void ForEachQuota(Quotas& mine, const Quotas& other, Each each) {
  each(mine.leases, other.leases);
  each(mine.waiters, other.waiters);
  each(mine.sessions, other.sessions);
  each(mine.operations_per_second, other.operations_per_second);
  each(mine.max_ttl, other.max_ttl);
  each(mine.max_wait, other.max_wait);
  each(mine.max_hold, other.max_hold);
  each(mine.max_lock_delay, other.max_lock_delay);
  each(mine.max_hold_at_least, other.max_hold_at_least);
}

}  // namespace

std::string_view NameOf(Verb verb) { return kVerbNames[static_cast<size_t>(verb)]; }

std::optional<Verb> VerbOf(std::string_view name) {
  const auto* const found = std::find(kVerbNames.begin(), kVerbNames.end(), name);
  if (found == kVerbNames.end()) return std::nullopt;
  return static_cast<Verb>(found - kVerbNames.begin());
}

std::string VerbNames() {
  std::string names(kVerbNames.front());
  for (size_t i = 1; i < kVerbs; ++i) {
    names += i + 1 < kVerbs ? ", " : " or ";
    names += kVerbNames[i];
  }
  return names;
}

bool MatchesPattern(std::string_view principal, std::string_view pattern) {
  if (pattern.empty() || pattern.back() != '*') return principal == pattern;
  return principal.starts_with(pattern.substr(0, pattern.size() - 1));
}

std::shared_ptr<const Rights> Rights::All() {
  static const std::shared_ptr<const Rights> kAll = [] {
    auto rights = std::make_shared<Rights>();
    for (Locks& locks : rights->locks_) locks = {.prefixes = {""}, .names = {}, .any = true};
    return rights;
  }();
  return kAll;
}

bool Rights::Allows(Verb verb, std::string_view name) const {
  const Locks& locks = locks_[static_cast<size_t>(verb)];
  if (!IsAboutLock(verb)) return locks.any;
  return locks.names.contains(name) ||
         std::any_of(locks.prefixes.begin(), locks.prefixes.end(),
                     [&](const std::string& prefix) { return name.starts_with(prefix); });
}

bool Rights::AllowsBelow(Verb verb, std::string_view prefix) const {
  const Locks& locks = locks_[static_cast<size_t>(verb)];
  if (!IsAboutLock(verb)) return locks.any;
  const auto name = locks.names.lower_bound(prefix);
  if (name != locks.names.end() && name->starts_with(prefix)) return true;
  return std::any_of(locks.prefixes.begin(), locks.prefixes.end(), [&](const std::string& allowed) {
    return allowed.starts_with(prefix) || prefix.starts_with(allowed);
  });
}

bool Rights::AllowsAllBelow(Verb verb, std::string_view prefix) const {
  const Locks& locks = locks_[static_cast<size_t>(verb)];
  if (!IsAboutLock(verb)) return locks.any;
  return std::any_of(locks.prefixes.begin(), locks.prefixes.end(),
                     [&](const std::string& allowed) { return prefix.starts_with(allowed); });
}

bool Rights::AllowsAnything() const {
  return std::any_of(locks_.begin(), locks_.end(), [](const Locks& locks) { return locks.any; });
}

std::shared_ptr<const Rights> Policy::WithoutRules() const {
  auto rights = std::make_shared<Rights>(*Rights::All());
  rights->quotas_ = parts_.quotas;
  return rights;
}

std::shared_ptr<const Rights> Policy::RightsOf(const Identity& identity) const {
  auto rights = std::make_shared<Rights>();
  std::set<std::string> roles;
  for (const Binding& binding : parts_.bindings) {
    if (Matches(binding, identity)) roles.insert(binding.roles.begin(), binding.roles.end());
  }
  for (const std::string& name : roles) {
    const Role& role = parts_.roles.at(name);
    for (const Rule& rule : role.rules) {
      for (const Verb verb : rule.verbs) {
        Rights::Locks& locks = rights->locks_[static_cast<size_t>(verb)];
        locks.any = true;
        for (const std::string& prefix : rule.prefixes) {
          locks.prefixes.push_back(Expand(prefix, identity.principal));
        }
        for (const std::string& lock : rule.names) {
          locks.names.insert(Expand(lock, identity.principal));
        }
      }
    }
    ForEachQuota(rights->quotas_, role.quotas,
                 [](auto& mine, const auto& other) { TakeLarger(mine, other); });
  }
  ForEachQuota(rights->quotas_, parts_.quotas,
               [](auto& mine, const auto& other) { TakeIfNone(mine, other); });
  rights->roles_.assign(roles.begin(), roles.end());
  return rights;
}

}  // namespace lockkeeper::access
