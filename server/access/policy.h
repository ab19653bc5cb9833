// SPDX-License-Identifier: Apache-2.0
//
// What an identity may do to which locks, and how much of it. A policy consists of roles, which
// have rules and quotas, and of bindings, which give roles to principals. Nothing is allowed but
// what a rule allows; a daemon without a policy allows everything.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "access/identity.h"
#include "core/types.h"

namespace lockkeeper::access {

// What a rule allows to do to the locks that it names. Those from kEndQuarantine on are about the
// daemon, not about locks.
enum class Verb {
  kAcquire,
  kExtend,
  kRelease,
  kFence,
  kInspect,
  kList,
  kForceRelease,
  kEndQuarantine,
  kDrain,
  kAdmin
};
inline constexpr size_t kVerbs = static_cast<size_t>(Verb::kAdmin) + 1;

// "acquire", "force-release": as a policy names it.
std::string_view NameOf(Verb verb);
std::optional<Verb> VerbOf(std::string_view name);

// "acquire, extend, ... or admin".
std::string VerbNames();

// Whether the verb is about a lock. The others are allowed or not, whatever locks a rule names.
constexpr bool IsAboutLock(Verb verb) { return verb < Verb::kEndQuarantine; }

// The word in a rule's locks that stands for the caller's principal, with `%`, `/`, `{` and `}` in
// it percent-encoded.
inline constexpr std::string_view kPrincipalPlaceholder = "{principal}";

struct Rule {
  std::set<Verb> verbs;
  // The locks whose names begin with one of these, or are one of these. "" is the prefix of all.
  std::vector<std::string> prefixes;
  std::vector<std::string> names;
};

// Limits of one principal. One that is not given is no limit here.
struct Quotas {
  std::optional<int64_t> leases;
  std::optional<int64_t> waiters;
  std::optional<int64_t> sessions;
  std::optional<int64_t> operations_per_second;
  std::optional<core::Millis> max_ttl;
  std::optional<core::Millis> max_wait;
  std::optional<core::Millis> max_hold;
  std::optional<core::Millis> max_lock_delay;
  std::optional<core::Millis> max_hold_at_least;

  friend bool operator==(const Quotas&, const Quotas&) = default;
};

struct Role {
  std::vector<Rule> rules;
  Quotas quotas;
};

// Gives roles to the identities for which all that is given here matches.
struct Binding {
  std::vector<std::string> roles;
  // Names of principals; a '*' at the end stands for any further characters.
  std::vector<std::string> principals;
  std::set<Proof> proofs;            // Empty: any.
  std::vector<std::string> issuers;  // Of JWTs. Empty: any, and what is no JWT.
};

// What one identity may do under one policy.
// Thread-safety: thread-safe, as nothing changes it.
class Rights {
 public:
  // Everything, without quotas.
  static std::shared_ptr<const Rights> All();

  // Whether `verb` is allowed on the lock `name`. For a verb that is not about a lock, `name` does
  // not count.
  bool Allows(Verb verb, std::string_view name) const;

  // Whether `verb` is allowed on some lock whose name begins with `prefix`.
  bool AllowsBelow(Verb verb, std::string_view prefix) const;

  // Whether `verb` is allowed on every lock whose name begins with `prefix`.
  bool AllowsAllBelow(Verb verb, std::string_view prefix) const;

  // Whether anything at all is allowed.
  bool AllowsAnything() const;

  const std::vector<std::string>& roles() const { return roles_; }
  const Quotas& quotas() const { return quotas_; }
  bool has_quotas() const { return quotas_ != Quotas(); }

 private:
  friend class Policy;
  struct Locks {
    std::vector<std::string> prefixes;
    std::set<std::string, std::less<>> names;
    bool any = false;  // Some rule has the verb.
  };

  std::array<Locks, kVerbs> locks_;
  std::vector<std::string> roles_;
  Quotas quotas_;
};

// Thread-safety: thread-safe, as nothing changes it.
class Policy {
 public:
  struct Parts {
    std::map<std::string, Role> roles;
    std::vector<Binding> bindings;
    Quotas quotas;  // Where no role of a principal gives one.

    // If not, everything is allowed.
    bool restrict() const { return !roles.empty() || !bindings.empty(); }
  };

  // Requires: each role that a binding names exists.
  explicit Policy(Parts parts) : parts_(std::move(parts)) {}

  // The roles are those of all bindings that match. Allowed is what one of them allows. Of each
  // quota the largest that a role gives counts; if none gives it, the policy's own.
  std::shared_ptr<const Rights> RightsOf(const Identity& identity) const;

  // The rights of everybody if the policy has no roles and no bindings: everything, within its
  // quotas.
  std::shared_ptr<const Rights> WithoutRules() const;

  const Parts& parts() const { return parts_; }

 private:
  const Parts parts_;
};

// Whether `principal` is the pattern, or begins with what stands before the '*' at its end.
bool MatchesPattern(std::string_view principal, std::string_view pattern);

}  // namespace lockkeeper::access
