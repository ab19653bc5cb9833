// SPDX-License-Identifier: Apache-2.0
#include "access/jwt.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "absl/strings/escaping.h"
#include "core/errors.h"

namespace lockkeeper::access {
namespace {

using nlohmann::json;

// Objects of a JWT are flat, or nearly so; the parser must not follow a deeper one.
constexpr int kDepthMax = 16;

absl::Status Rejected(const std::string& why) {
  return core::Error(core::ErrorReason::kUnauthenticated, "the JWT is rejected: " + why);
}

// Header, claims and signature as they are sent, still encoded. Nothing, unless there are three.
std::optional<std::array<std::string_view, 3>> Split(std::string_view token) {
  const size_t first = token.find('.');
  const size_t second = first == std::string_view::npos ? first : token.find('.', first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  if (token.find('.', second + 1) != std::string_view::npos) return std::nullopt;
  return std::array{token.substr(0, first), token.substr(first + 1, second - first - 1),
                    token.substr(second + 1)};
}

// The bytes that `part` encodes, if it is their base64url without padding. Abseil also takes
// padding, white space and stray bits at the end, and a token would have several forms.
std::optional<std::string> Decode(std::string_view part) {
  std::string bytes;
  if (part.empty() ||
      !absl::WebSafeBase64Unescape(absl::string_view(part.data(), part.size()), &bytes) ||
      absl::WebSafeBase64Escape(bytes) != part) {
    return std::nullopt;
  }
  return bytes;
}

// The object that `part` encodes; discarded if it does not.
json DecodeObject(std::string_view part) {
  const std::optional<std::string> text = Decode(part);
  if (!text) return json(json::value_t::discarded);
  bool too_deep = false;
  json object = json::parse(
      *text,
      [&](int depth, json::parse_event_t, json&) {
        too_deep = too_deep || depth > kDepthMax;
        return true;
      },
      /*allow_exceptions=*/false);
  if (too_deep || !object.is_object()) return json(json::value_t::discarded);
  return object;
}

std::string TextOf(const json& object, const std::string& name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

// A NumericDate, RFC 7519 section 2: seconds since 1970, perhaps with a fraction. nullopt if it is
// none, or the claim is missing.
std::optional<absl::Time> TimeOf(const json& claims, const char* name) {
  const auto found = claims.find(name);
  if (found == claims.end() || !found->is_number()) return std::nullopt;
  const double seconds = found->get<double>();
  if (!std::isfinite(seconds)) return std::nullopt;
  return absl::UnixEpoch() + absl::Seconds(seconds);
}

bool IsForAudience(const json& claims, const std::string& audience) {
  const auto found = claims.find("aud");
  if (found == claims.end()) return false;
  if (found->is_string()) return found->get_ref<const std::string&>() == audience;
  return found->is_array() && std::any_of(found->begin(), found->end(), [&](const json& entry) {
           return entry.is_string() && entry.get_ref<const std::string&>() == audience;
         });
}

// Until when the token counts.
absl::StatusOr<absl::Time> CheckTimes(const json& claims, const JwtIssuer& issuer, absl::Time now) {
  const absl::Duration leeway = absl::FromChrono(issuer.leeway);
  const std::optional<absl::Time> expires = TimeOf(claims, "exp");
  if (!expires) return Rejected("it has no expiry (exp)");
  if (now >= *expires + leeway) return Rejected("it has expired (exp)");
  if (!claims.contains("nbf")) return *expires + leeway;
  const std::optional<absl::Time> from = TimeOf(claims, "nbf");
  if (!from) return Rejected("its nbf is no time");
  if (now + leeway < *from) return Rejected("it is not valid yet (nbf)");
  return *expires + leeway;
}

}  // namespace

bool LooksLikeJwt(std::string_view text) { return Split(text).has_value(); }

absl::StatusOr<ProvedIdentity> JwtVerifier::Verify(std::string_view token, absl::Time now) const {
  if (token.size() > kJwtBytesMax) {
    return Rejected("it has more than " + std::to_string(kJwtBytesMax) + " bytes");
  }
  const auto parts = Split(token);
  if (!parts) return Rejected("it must consist of three parts with dots between");
  const json header = DecodeObject((*parts)[0]);
  const json claims = DecodeObject((*parts)[1]);
  const std::optional<std::string> signature = Decode((*parts)[2]);
  if (header.is_discarded() || claims.is_discarded() || !signature) {
    return Rejected("its parts must be base64url, the first two of JSON objects");
  }
  const std::optional<Signature> kind = SignatureOf(TextOf(header, "alg"));
  if (!kind) return Rejected("its alg must be RS256, ES256 or EdDSA");
  if (header.contains("crit")) return Rejected("it has extensions that are critical (crit)");

  const std::string issued_by = TextOf(claims, "iss");
  bool is_issuer_known = false;
  bool is_signature_right = false;
  const JwtIssuer* issuer = nullptr;
  const std::string_view signed_text = token.substr(0, token.rfind('.'));
  for (const auto& [entry, keys] : issuers_) {
    if (entry.issuer != issued_by) continue;
    is_issuer_known = true;
    if (!keys.Verify(*kind, TextOf(header, "kid"), signed_text, *signature)) continue;
    is_signature_right = true;
    if (IsForAudience(claims, entry.audience)) issuer = &entry;
    if (issuer != nullptr) break;
  }
  if (!is_issuer_known) return Rejected("its issuer (iss) is not one of those configured");
  if (!is_signature_right) return Rejected("no key of its issuer verifies its signature");
  if (issuer == nullptr) return Rejected("it is for another audience (aud)");
  const absl::StatusOr<absl::Time> until = CheckTimes(claims, *issuer, now);
  if (!until.ok()) return until.status();
  const std::optional<std::string> principal = issuer->mapping.Map(TextOf(claims, issuer->claim));
  if (!principal) {
    return Rejected("its claim \"" + issuer->claim + "\" does not give a principal");
  }
  return ProvedIdentity{
      .identity = {.principal = *principal, .proof = Proof::kJwt, .issuer = issued_by},
      .until = *until};
}

}  // namespace lockkeeper::access
