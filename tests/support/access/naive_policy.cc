// SPDX-License-Identifier: Apache-2.0
#include "support/access/naive_policy.h"

namespace lockkeeper::support {
namespace {

bool Binds(const access::Binding& binding, const access::Identity& who) {
  bool binds = false;
  for (const std::string& pattern : binding.principals) {
    const bool open = pattern.ends_with('*');
    const std::string begin = open ? pattern.substr(0, pattern.size() - 1) : pattern;
    binds = binds || (open ? who.principal.starts_with(begin) : who.principal == begin);
  }
  if (!binding.proofs.empty()) binds = binds && binding.proofs.contains(who.proof);
  if (!binding.issuers.empty()) {
    bool issued = false;
    for (const std::string& issuer : binding.issuers) issued = issued || issuer == who.issuer;
    binds = binds && issued && who.proof == access::Proof::kJwt;
  }
  return binds;
}

}  // namespace

std::string NaivelyExpanded(std::string text, std::string_view principal) {
  static const std::string kPlaceholder = "{principal}";
  std::string escaped;
  for (const char c : principal) {
    escaped += c == '/'   ? "%2F"
               : c == '%' ? "%25"
               : c == '{' ? "%7B"
               : c == '}' ? "%7D"
                          : std::string(1, c);
  }
  for (size_t at = 0; (at = text.find(kPlaceholder, at)) != std::string::npos;
       at += escaped.size()) {
    text.replace(at, kPlaceholder.size(), escaped);
  }
  return text;
}

bool NaivelyAllowed(const access::Policy::Parts& policy, const access::Identity& who,
                    access::Verb verb, const std::string& lock) {
  for (const access::Binding& binding : policy.bindings) {
    if (!Binds(binding, who)) continue;
    for (const std::string& role : binding.roles) {
      for (const access::Rule& rule : policy.roles.at(role).rules) {
        if (!rule.verbs.contains(verb)) continue;
        if (!access::IsAboutLock(verb)) return true;
        for (const std::string& name : rule.names) {
          if (lock == NaivelyExpanded(name, who.principal)) return true;
        }
        for (const std::string& prefix : rule.prefixes) {
          if (lock.starts_with(NaivelyExpanded(prefix, who.principal))) return true;
        }
      }
    }
  }
  return false;
}

}  // namespace lockkeeper::support
