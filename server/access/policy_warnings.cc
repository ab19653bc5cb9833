// SPDX-License-Identifier: Apache-2.0
#include "access/policy_warnings.h"

#include <algorithm>
#include <set>

#include "text/duration.h"

namespace lockkeeper::access {
namespace {

class WarningsReader {
 public:
  WarningsReader(const PolicyFile& policy, const Tokens& tokens, const PolicySurroundings& around)
      : file_(policy), names_(tokens.names()), around_(around) {}

  std::vector<std::string> Read() {
    LookForProofs();
    const std::vector<Binding>& bindings = file_.policy.bindings;
    for (size_t i = 0; i < bindings.size(); ++i) {
      if (!MayMatchSomebody(bindings[i])) {
        warnings_.push_back("bindings[" + std::to_string(i + 1) +
                            "]: nobody can prove one of its principals");
      }
    }
    LookAtQuotas("quotas", file_.policy.quotas);
    for (const auto& [name, role] : file_.policy.roles) {
      LookAtQuotas("roles." + name + ".quotas", role.quotas);
    }
    return std::move(warnings_);
  }

 private:
  bool IsBoundTo(Proof proof) const {
    return std::any_of(file_.policy.bindings.begin(), file_.policy.bindings.end(),
                       [&](const Binding& binding) { return binding.proofs.contains(proof); });
  }

  void LookForProofs() {
    if (!around_.has_tokens && IsBoundTo(Proof::kToken)) {
      warnings_.emplace_back(
          "bindings: one asks for the proof token, and there is no file of tokens");
    }
    const bool has_mappings = !file_.certificates.empty();
    if (!around_.has_mutual_tls && (has_mappings || IsBoundTo(Proof::kCertificate))) {
      warnings_.push_back(std::string(has_mappings ? "certificates" : "bindings") +
                          ": no listener asks for certificates (mtls://)");
    }
    if (file_.issuers.empty() && IsBoundTo(Proof::kJwt)) {
      warnings_.emplace_back("bindings: one asks for the proof jwt, and there is no jwt entry");
    }
  }

  // Certificates and JWTs may prove any name. What else a daemon here knows are its tokens.
  bool MayMatchSomebody(const Binding& binding) const {
    const auto asks_for = [&](Proof proof) {
      return binding.proofs.empty() || binding.proofs.contains(proof);
    };
    const auto has = [&](std::string_view name) {
      return std::any_of(binding.principals.begin(), binding.principals.end(),
                         [&](const std::string& pattern) { return MatchesPattern(name, pattern); });
    };
    const bool is_for_the_anonymous_only =
        binding.principals.size() == 1 && binding.principals.front() == kAnonymous;
    if (binding.issuers.empty() && asks_for(Proof::kNone) && has(kAnonymous)) return true;
    if (is_for_the_anonymous_only) return false;
    if (asks_for(Proof::kJwt) && !file_.issuers.empty()) return true;
    if (!binding.issuers.empty()) return false;
    if (asks_for(Proof::kCertificate) && around_.has_mutual_tls) return true;
    return asks_for(Proof::kToken) && std::any_of(names_.begin(), names_.end(), has);
  }

  void LookAtQuotas(const std::string& where, const Quotas& quotas) {
    if (quotas.max_ttl > around_.longest_ttl) {
      Exceeds(where + ".max_ttl", text::InWords(*quotas.max_ttl),
              "no lock's ttl may be longer than " + text::InWords(around_.longest_ttl));
    }
    if (quotas.max_wait > around_.max_wait) {
      Exceeds(where + ".max_wait", text::InWords(*quotas.max_wait),
              "waiters.max_wait is " + text::InWords(around_.max_wait));
    }
    if (quotas.waiters > around_.waiters_max) {
      Exceeds(where + ".waiters", std::to_string(*quotas.waiters),
              "waiters.per_principal_max is " + std::to_string(around_.waiters_max));
    }
  }

  void Exceeds(const std::string& quota, const std::string& value, const std::string& limit) {
    warnings_.push_back(quota + ": " + value + " has no effect: " + limit);
  }

  const PolicyFile& file_;
  const std::set<std::string_view> names_;  // That tokens prove.
  const PolicySurroundings& around_;
  std::vector<std::string> warnings_;
};

}  // namespace

std::vector<std::string> WarningsOf(const PolicyFile& policy, const Tokens& tokens,
                                    const PolicySurroundings& around) {
  return WarningsReader(policy, tokens, around).Read();
}

}  // namespace lockkeeper::access
