// SPDX-License-Identifier: Apache-2.0
//
// The names of a client's certificate, and an entry of the policy that maps one: the letter of its
// field, `match` and `principal`; then the names, each after its field's letter. A byte 0 stands
// between them.
#include <memory>
#include <optional>
#include <string>

#include "access/name_mapping.h"
#include "access/rulebook.h"
#include "fuzz/target.h"

namespace lockkeeper {
namespace {

using access::CertificateField;
using access::Credentials;
using access::NameMapping;
using fuzz::Require;

const absl::Time kNow = absl::FromUnixSeconds(1'795'444'131);

CertificateField FieldOf(std::string_view& text) {
  const char letter = text.empty() ? 's' : text.front();
  if (!text.empty()) text.remove_prefix(1);
  if (letter == 'd') return CertificateField::kDns;
  return letter == 'c' ? CertificateField::kCommonName : CertificateField::kSpiffe;
}

// What the mapping's texts say, without looking for more than one '*'.
std::optional<std::string> MappedByHand(const NameMapping& mapping, const std::string& name) {
  const size_t star = mapping.match.find('*');
  std::string middle;
  if (star != std::string::npos) {
    const size_t around = mapping.match.size() - 1;
    if (name.size() < around) return std::nullopt;
    middle = name.substr(star, name.size() - around);
  }
  std::string whole = mapping.match;
  if (star != std::string::npos) whole.replace(star, 1, middle);
  if (whole != name) return std::nullopt;
  std::string principal = mapping.principal;
  const size_t place = principal.find('*');
  if (place != std::string::npos) principal.replace(place, 1, middle);
  return access::IsPrincipal(principal) ? std::optional(principal) : std::nullopt;
}

// Asked of a rulebook that remembers all callers before this one, and of one that has just begun.
void CheckIdentity(const access::Rulebook& rulebook, const Credentials& shown) {
  const auto fresh = access::Rulebook().Identify(shown, kNow);
  const auto known = rulebook.Identify(shown, kNow);
  Require(fresh.ok() == known.ok() && fresh.status() == known.status(),
          "a caller that is remembered is one that was identified");
  if (!known.ok()) {
    fuzz::RequireOneLine(std::string(known.status().message()));
    return;
  }
  Require((*fresh)->identity == (*known)->identity, "callers are not taken for one another");
  const access::Identity& identity = (*known)->identity;
  Require(access::IsPrincipal(identity.principal), "a certificate gives a principal");
  Require(identity.proof == access::Proof::kCertificate, "a certificate is a certificate");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto* const kRulebook = new access::Rulebook;
  std::string_view rest = fuzz::TextOf(data, size);
  std::string_view entry = fuzz::TakeField(rest);
  const CertificateField field = FieldOf(entry);
  const NameMapping mapping{.match = std::string(entry),
                            .principal = std::string(fuzz::TakeField(rest))};

  Credentials shown;
  Credentials::Certificate& certificate = shown.certificate.emplace();
  std::optional<std::string> expected;
  while (!rest.empty()) {
    std::string_view name = fuzz::TakeField(rest);
    const CertificateField of = FieldOf(name);
    if (of == CertificateField::kSpiffe) certificate.spiffe_ids.push_back(name);
    if (of == CertificateField::kDns) certificate.dns_names.push_back(name);
    if (of == CertificateField::kCommonName && certificate.common_name.empty()) {
      certificate.common_name = name;
    } else if (of == CertificateField::kCommonName) {
      continue;  // gRPC shows the first.
    }
    const bool is_empty = of == CertificateField::kCommonName && name.empty();
    if (of == field && !expected && !is_empty) expected = MappedByHand(mapping, std::string(name));
  }
  CheckIdentity(*kRulebook, shown);

  if (const text::Problem problem = mapping.Check()) {
    fuzz::RequireOneLine(*problem);
    return 0;
  }
  access::PolicyFile policy;
  policy.certificates.push_back({.field = field, .mapping = mapping});
  const access::Rulebook mapped(std::move(policy), access::Tokens(), access::JwtVerifier());
  const auto standing = mapped.Identify(shown, kNow);
  Require(standing.ok() == expected.has_value(), "the entry maps what matches it");
  if (standing.ok()) {
    Require((*standing)->identity.principal == *expected, "the entry says who it is");
    Require(access::IsPrincipal(*expected), "a certificate gives a principal");
  }
  return 0;
}

}  // namespace lockkeeper
