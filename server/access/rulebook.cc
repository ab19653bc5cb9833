// SPDX-License-Identifier: Apache-2.0
#include "access/rulebook.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "core/errors.h"
#include "text/problem.h"

namespace lockkeeper::access {
namespace {

// Beyond it all are forgotten, and identified again: a verified JWT costs a hundred times as much
// as one that is remembered.
constexpr size_t kRememberedMax = 4'096;

// What the key of most certificates takes.
constexpr size_t kKeyBytesReserved = 128;

constexpr std::string_view kBearer = "Bearer ";

absl::Status Unauthenticated(std::string_view why) {
  return core::Error(core::ErrorReason::kUnauthenticated, why);
}

// The token of the only value, if it is "Bearer TOKEN".
std::optional<std::string_view> BearerIn(const std::vector<std::string_view>& authorization) {
  if (authorization.size() != 1) return std::nullopt;
  const std::string_view value = authorization.front();
  const std::string_view scheme = value.substr(0, kBearer.size());
  if (!absl::EqualsIgnoreCase({scheme.data(), scheme.size()}, {kBearer.data(), kBearer.size()})) {
    return std::nullopt;
  }
  std::string_view token = value.substr(kBearer.size());
  while (token.starts_with(' ')) token.remove_prefix(1);
  if (token.empty()) return std::nullopt;
  return token;
}

// As bytes: for each call of a client with a certificate a key is made.
void AddNumber(std::string& key, size_t number) {
  key.append(reinterpret_cast<const char*>(&number), sizeof number);
}

void AddPart(std::string& key, std::string_view text) {
  AddNumber(key, text.size());
  key += text;
}

// Different for credentials that may give different identities.
std::string KeyOf(const Credentials& shown) {
  if (!shown.authorization.empty()) {
    std::string key = "b";
    for (const std::string_view value : shown.authorization) AddPart(key, HashToken(value));
    return key;
  }
  std::string key = "c";
  key.reserve(kKeyBytesReserved);
  for (const auto* names : {&shown.certificate->spiffe_ids, &shown.certificate->dns_names}) {
    AddNumber(key, names->size());
    for (const std::string_view name : *names) AddPart(key, name);
  }
  AddPart(key, shown.certificate->common_name);
  return key;
}

ProvedIdentity OfCertificate(std::string principal) {
  return {
      .identity = {.principal = std::move(principal), .proof = Proof::kCertificate, .issuer = ""}};
}

}  // namespace

Rulebook::Rulebook(PolicyFile policy, Tokens tokens, JwtVerifier jwts)
    : policy_file_(std::move(policy)),
      policy_(policy_file_.policy),
      tokens_(std::move(tokens)),
      jwts_(std::move(jwts)),
      anonymous_(StandingOf({})) {}

std::shared_ptr<const Standing> Rulebook::StandingOf(ProvedIdentity proved) const {
  auto standing = std::make_shared<Standing>();
  standing->rights =
      policy_file_.policy.restrict() ? policy_.RightsOf(proved.identity) : policy_.WithoutRules();
  standing->identity = std::move(proved.identity);
  standing->until = proved.until;
  return standing;
}

absl::StatusOr<std::shared_ptr<const Standing>> Rulebook::Identify(const Credentials& shown,
                                                                   absl::Time now) const {
  if (!shown.certificate && shown.authorization.empty()) return anonymous_;
  const std::string key = KeyOf(shown);
  {
    const std::shared_lock lock(mutex_);
    const auto known = remembered_.find(key);
    if (known != remembered_.end() && now < known->second->until) return known->second;
  }
  absl::StatusOr<ProvedIdentity> proved = Prove(shown, now);
  if (!proved.ok()) return proved.status();
  auto standing = StandingOf(*std::move(proved));
  const std::unique_lock lock(mutex_);
  if (remembered_.size() >= kRememberedMax) remembered_.clear();
  remembered_[key] = standing;
  return standing;
}

size_t Rulebook::remembered() const {
  const std::shared_lock lock(mutex_);
  return remembered_.size();
}

absl::StatusOr<ProvedIdentity> Rulebook::Prove(const Credentials& shown, absl::Time now) const {
  if (shown.authorization.empty()) return ProveByCertificate(*shown.certificate);
  const std::optional<std::string_view> token = BearerIn(shown.authorization);
  if (!token) {
    return Unauthenticated("the metadata key authorization must be given once, as Bearer TOKEN");
  }
  return ProveByToken(*token, now);
}

absl::StatusOr<ProvedIdentity> Rulebook::ProveByToken(std::string_view token,
                                                      absl::Time now) const {
  if (LooksLikeJwt(token)) return jwts_.Verify(token, now);
  return tokens_.Verify(token, now);
}

absl::StatusOr<ProvedIdentity> Rulebook::ProveByCertificate(
    const Credentials::Certificate& shown) const {
  const auto names_of = [&](CertificateField field) -> std::vector<std::string_view> {
    if (field == CertificateField::kSpiffe) return shown.spiffe_ids;
    if (field == CertificateField::kDns) return shown.dns_names;
    if (shown.common_name.empty()) return {};
    return {shown.common_name};
  };
  if (!policy_file_.certificates.empty()) {
    for (const CertificateMapping& entry : policy_file_.certificates) {
      for (const std::string_view name : names_of(entry.field)) {
        if (auto principal = entry.mapping.Map(name)) return OfCertificate(*std::move(principal));
      }
    }
    return Unauthenticated(
        "no entry of certificates in the policy matches a name of the client's "
        "certificate");
  }
  for (const auto field :
       {CertificateField::kSpiffe, CertificateField::kDns, CertificateField::kCommonName}) {
    const std::vector<std::string_view> names = names_of(field);
    if (names.empty()) continue;
    if (IsPrincipal(names.front())) return OfCertificate(std::string(names.front()));
    return Unauthenticated("the client's certificate has a name that cannot be a principal: " +
                           text::Quoted(names.front()));
  }
  return Unauthenticated(
      "the client's certificate has no name: neither a SPIFFE id, nor a DNS name, nor a CN");
}

}  // namespace lockkeeper::access
