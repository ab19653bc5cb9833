// SPDX-License-Identifier: Apache-2.0
//
// A JWT. Without a byte 0 it is one as it is sent: nobody has signed it, so nothing makes it
// accepted. Else header and claims, each with a byte 0 behind it, which the target signs if they
// get as far as that; what is left is appended to the signature.
#include "access/jwt.h"

#include <nlohmann/json.hpp>
#include <string>

#include "fuzz/target.h"
#include "support/access/key_pair.h"

namespace lockkeeper {
namespace {

using fuzz::Require;
using nlohmann::json;

const absl::Time kNow = absl::FromUnixSeconds(1'795'444'131);
constexpr char kIssuer[] = "https://issuer";
constexpr char kAudience[] = "lockkeeper";

// Of the three kinds the quickest to sign and to verify together.
const support::KeyPair& Key() {
  static const auto* const kKey = new support::KeyPair(access::Signature::kEs256);
  return *kKey;
}

// Two entries for the issuer, which differ in audience, claim and name.
const access::JwtVerifier& Verifier() {
  static const auto* const kVerifier = [] {
    access::KeySet keys;
    Require(!access::KeySet::Parse(support::KeySetOf({Key().Jwk("k")}), keys), "a key is a key");
    const access::JwtIssuer any{.issuer = kIssuer, .audience = kAudience, .jwks_file = "keys"};
    const access::JwtIssuer mapped{.issuer = kIssuer,
                                   .audience = "other",
                                   .jwks_file = "keys",
                                   .claim = "name",
                                   .leeway = std::chrono::seconds(0),
                                   .mapping = {.match = "system:*", .principal = "k8s:*"}};
    return new access::JwtVerifier({{any, keys}, {mapped, keys}});
  }();
  return *kVerifier;
}

absl::StatusOr<access::ProvedIdentity> Verify(const std::string& token) {
  auto proved = Verifier().Verify(token, kNow);
  if (proved.ok()) return proved;
  const std::string why(proved.status().message());
  Require(why.starts_with("the JWT is rejected: "), "an error says that it is about the JWT");
  fuzz::RequireOneLine(why);
  for (std::string_view rest = token; !rest.empty();) {
    const std::string_view part = fuzz::TakeField(rest, '.');
    // Whose parts have no spaces; no word of an error is so long.
    const bool is_word = part.size() >= 16 && part.find(' ') == std::string_view::npos;
    Require(!is_word || why.find(part) == std::string::npos, "an error shows nothing of the token");
  }
  return proved;
}

bool Names(const json& audience, const std::string& wanted) {
  if (!audience.is_array()) return audience == wanted;
  return std::find(audience.begin(), audience.end(), wanted) != audience.end();
}

// What an accepted JWT must say, read again.
void CheckAccepted(std::string_view header_text, std::string_view claims_text,
                   const access::ProvedIdentity& proved) {
  const json header = json::parse(header_text, nullptr, /*allow_exceptions=*/false);
  const json claims = json::parse(claims_text, nullptr, /*allow_exceptions=*/false);
  Require(header.is_object() && claims.is_object(), "header and claims are objects");
  Require(header.value("alg", json()) == Key().alg(), "the signature is of the key's kind");
  Require(!header.contains("crit"), "nothing is critical that is not understood");
  Require(claims.value("iss", json()) == kIssuer, "the issuer is one that is configured");
  const json audience = claims.value("aud", json());
  const bool is_mapped = !Names(audience, kAudience);
  Require(!is_mapped || Names(audience, "other"), "the audience is one that is configured");
  const std::string principal = claims.at(is_mapped ? "name" : "sub").get<std::string>();
  Require(proved.identity.principal ==
              (is_mapped ? "k8s:" + principal.substr(std::string("system:").size()) : principal),
          "the principal is what the claim says");
  Require(access::IsPrincipal(proved.identity.principal), "a JWT gives a principal");
  Require(proved.identity.proof == access::Proof::kJwt, "a JWT is a JWT");
  Require(proved.identity.issuer == kIssuer, "the issuer is kept");
  Require(claims.contains("exp"), "a JWT expires");
  Require(kNow < proved.until, "a JWT that counts has not expired");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view rest = fuzz::TextOf(data, size);
  if (rest.find('\0') == std::string_view::npos) {
    Require(!Verify(std::string(rest)).ok(), "what nobody has signed is not accepted");
    return 0;
  }
  const std::string header(fuzz::TakeField(rest));
  const std::string claims(fuzz::TakeField(rest));
  const std::string text = support::Base64Url(header) + "." + support::Base64Url(claims);
  const auto without = Verify(text + ".AA");
  Require(!without.ok(), "a JWT without its signature is not accepted");
  // Signing costs as much as all the rest.
  if (without.status().message().find("no key of its issuer") == std::string::npos) return 0;

  const std::string token = text + "." + support::Base64Url(Key().Sign(text));
  if (!rest.empty()) {
    Require(!Verify(token + std::string(rest)).ok(), "a signature has one form");
    return 0;
  }
  const auto proved = Verify(token);
  if (!proved.ok()) return 0;
  CheckAccepted(header, claims, *proved);
  Require(!Verifier().Verify(token, proved->until).ok(),
          "a JWT does not count once it has expired");
  const json other = {{"iss", kIssuer}, {"aud", kAudience}, {"sub", "root"}, {"exp", 4e9}};
  Require(!Verify(support::Base64Url(header) + "." + support::Base64Url(other.dump()) +
                  token.substr(token.rfind('.')))
               .ok(),
          "a signature is for one text");
  return 0;
}

}  // namespace lockkeeper
