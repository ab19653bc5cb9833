// SPDX-License-Identifier: Apache-2.0
//
// The file of --policy. What is accepted is read again as it was written, allows what a plain
// reading of its rules allows, and keeps the folders of principals apart.
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "access/policy_file.h"
#include "fuzz/target.h"
#include "support/access/naive_policy.h"
#include "text/duration.h"
#include "text/utf8.h"

namespace lockkeeper {
namespace {

using access::Identity;
using access::PolicyFile;
using fuzz::Require;

constexpr char kPath[] = "policy.yaml";

// Enough to reach each branch; more make the target slow.
constexpr size_t kIdentitiesMax = 4;
constexpr size_t kLocksMax = 8;

void WriteList(YAML::Emitter& out, const char* key, const std::vector<std::string>& texts) {
  out << key << YAML::BeginSeq;
  for (const std::string& text : texts) out << text;
  out << YAML::EndSeq;
}

template <typename Words>
void WriteWords(YAML::Emitter& out, const char* key, const Words& words) {
  out << key << YAML::BeginSeq;
  for (const auto word : words) out << std::string(NameOf(word));
  out << YAML::EndSeq;
}

void WriteMapping(YAML::Emitter& out, const access::NameMapping& mapping) {
  out << "match" << mapping.match << "principal" << mapping.principal;
}

void WriteQuotas(YAML::Emitter& out, const access::Quotas& quotas) {
  out << "quotas" << YAML::BeginMap;
  for (const auto& [key, count] :
       {std::pair("leases", quotas.leases), std::pair("waiters", quotas.waiters),
        std::pair("sessions", quotas.sessions),
        std::pair("operations_per_second", quotas.operations_per_second)}) {
    if (count) out << key << *count;
  }
  for (const auto& [key, time] :
       {std::pair("max_ttl", quotas.max_ttl), std::pair("max_wait", quotas.max_wait),
        std::pair("max_hold", quotas.max_hold), std::pair("max_lock_delay", quotas.max_lock_delay),
        std::pair("max_hold_at_least", quotas.max_hold_at_least)}) {
    if (time) out << key << text::FormatDuration(*time);
  }
  out << YAML::EndMap;
}

void WriteEntries(YAML::Emitter& out, const PolicyFile& file) {
  constexpr const char* kFields[] = {"spiffe", "dns", "cn"};
  out << "certificates" << YAML::BeginSeq;
  for (const access::CertificateMapping& entry : file.certificates) {
    out << YAML::BeginMap << "from" << kFields[static_cast<size_t>(entry.field)];
    WriteMapping(out, entry.mapping);
    out << YAML::EndMap;
  }
  out << YAML::EndSeq << "jwt" << YAML::BeginSeq;
  for (const access::JwtIssuer& issuer : file.issuers) {
    out << YAML::BeginMap << "issuer" << issuer.issuer << "audience" << issuer.audience
        << "jwks_file" << issuer.jwks_file << "claim" << issuer.claim << "leeway"
        << text::FormatDuration(issuer.leeway);
    WriteMapping(out, issuer.mapping);
    out << YAML::EndMap;
  }
  out << YAML::EndSeq;
}

std::string Written(const PolicyFile& file) {
  YAML::Emitter out;
  out.SetStringFormat(YAML::DoubleQuoted);
  out << YAML::BeginMap;
  WriteEntries(out, file);
  out << "roles" << YAML::BeginMap;
  for (const auto& [name, role] : file.policy.roles) {
    out << name << YAML::BeginMap << "rules" << YAML::BeginSeq;
    for (const access::Rule& rule : role.rules) {
      out << YAML::BeginMap;
      WriteWords(out, "verbs", rule.verbs);
      WriteList(out, "prefixes", rule.prefixes);
      WriteList(out, "names", rule.names);
      out << YAML::EndMap;
    }
    out << YAML::EndSeq;
    WriteQuotas(out, role.quotas);
    out << YAML::EndMap;
  }
  out << YAML::EndMap << "bindings" << YAML::BeginSeq;
  for (const access::Binding& binding : file.policy.bindings) {
    out << YAML::BeginMap;
    WriteList(out, "roles", binding.roles);
    WriteList(out, "principals", binding.principals);
    WriteWords(out, "proofs", binding.proofs);
    WriteList(out, "issuers", binding.issuers);
    out << YAML::EndMap;
  }
  out << YAML::EndSeq;
  WriteQuotas(out, file.policy.quotas);
  out << YAML::EndMap;
  return out.c_str();
}

PolicyFile Parse(std::string_view text) {
  PolicyFile file = access::ParsePolicy(text, kPath);
  for (const auto* texts : {&file.problems, &file.warnings}) {
    for (const std::string& line : *texts) {
      Require(line.starts_with(std::string(kPath) + ":"), "a problem says where it is");
      fuzz::RequireOneLine(line);
    }
  }
  return file;
}

void CheckFolder(const std::string& prefix) {
  const size_t place = prefix.rfind(access::kPrincipalPlaceholder);
  if (place == std::string::npos) return;
  const std::string behind = prefix.substr(place + access::kPrincipalPlaceholder.size());
  const std::string folder = support::NaivelyExpanded(prefix, "ann");
  for (const std::string& other : {std::string("anna"), "ann" + behind, "ann" + behind + "a"}) {
    if (other == "ann") continue;
    Require(!support::NaivelyExpanded(prefix, other).starts_with(folder),
            "no principal reaches into the folder of another");
  }
}

// Callers that the bindings name, and one that they may not.
std::vector<Identity> IdentitiesOf(const access::Policy::Parts& policy) {
  std::vector<Identity> identities = {{}};
  for (const access::Binding& binding : policy.bindings) {
    if (identities.size() >= kIdentitiesMax) break;
    Identity who{.principal = binding.principals.front(), .proof = access::Proof::kToken};
    if (who.principal.ends_with('*')) who.principal.back() = '/';
    if (!binding.proofs.empty()) who.proof = *binding.proofs.begin();
    if (!binding.issuers.empty()) {
      who.proof = access::Proof::kJwt;
      who.issuer = binding.issuers.front();
    }
    identities.push_back(std::move(who));
  }
  return identities;
}

// Locks that the rules name for `principal`, and some beside them.
std::vector<std::string> LocksOf(const access::Policy::Parts& policy,
                                 const std::string& principal) {
  std::vector<std::string> locks = {"jobs/1"};
  for (const auto& [name, role] : policy.roles) {
    for (const access::Rule& rule : role.rules) {
      for (const auto* texts : {&rule.prefixes, &rule.names}) {
        for (const std::string& text : *texts) {
          if (locks.size() >= kLocksMax) return locks;
          locks.push_back(support::NaivelyExpanded(text, principal));
          locks.push_back(locks.back() + "x");
        }
      }
    }
  }
  return locks;
}

void CheckRights(const PolicyFile& file) {
  const access::Policy policy(file.policy);
  for (const Identity& who : IdentitiesOf(file.policy)) {
    const auto rights = policy.RightsOf(who);
    const std::vector<std::string> locks = LocksOf(file.policy, who.principal);
    for (size_t i = 0; i < access::kVerbs; ++i) {
      const auto verb = static_cast<access::Verb>(i);
      for (const std::string& lock : locks) {
        const bool allowed = support::NaivelyAllowed(file.policy, who, verb, lock);
        Require(rights->Allows(verb, lock) == allowed, "a rule allows what it says");
        Require(!allowed || rights->AllowsBelow(verb, lock), "a lock is below its own name");
        Require(!rights->AllowsAllBelow(verb, lock) || allowed, "all locks are all");
        Require(!allowed || rights->AllowsAnything(), "something is anything");
      }
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const PolicyFile file = Parse(fuzz::TextOf(data, size));
  if (!file.problems.empty()) return 0;
  const std::string written = Written(file);
  const PolicyFile again = Parse(written);
  Require(again.problems.empty(), "what is written again is accepted");
  Require(again.warnings.size() == file.warnings.size(), "and has the same warnings");
  Require(Written(again) == written, "a policy is read as it was written");

  for (const auto& [name, role] : file.policy.roles) {
    Require(!name.empty() && text::FindTextFault(name) == text::TextFault::kNone,
            "a role has a name that can be shown");
    for (const access::Rule& rule : role.rules) {
      for (const auto* texts : {&rule.prefixes, &rule.names}) {
        for (const std::string& text : *texts) {
          Require(support::NaivelyExpanded(text, "ann").find_first_of("{}") == std::string::npos,
                  "the only word in braces is the placeholder");
        }
      }
      for (const std::string& prefix : rule.prefixes) CheckFolder(prefix);
    }
  }
  CheckRights(file);
  return 0;
}

}  // namespace lockkeeper
