// SPDX-License-Identifier: Apache-2.0
//
// Verifies JSON Web Tokens (RFC 7519), signed (RFC 7515) with RS256, ES256 or EdDSA. Follows the
// advice of RFC 8725: the kinds of signature are fixed, keys never come from the token, issuer and
// audience are checked, and an expiry is required.
#pragma once

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "access/identity.h"
#include "access/key_set.h"
#include "access/policy_file.h"

namespace lockkeeper::access {

// Longest JWT. Those of Kubernetes have 1 to 2 KiB.
inline constexpr size_t kJwtBytesMax = 8 * 1024;

// Whether `text` has the shape of a JWT, three parts with dots between; tokens of a file have none.
bool LooksLikeJwt(std::string_view text);

// Thread-safety: thread-safe, as nothing changes it.
class JwtVerifier {
 public:
  JwtVerifier() = default;
  explicit JwtVerifier(std::vector<std::pair<JwtIssuer, KeySet>> issuers)
      : issuers_(std::move(issuers)) {}

  // Who the token says that the caller is. It counts until it expires, leeway included.
  // Errors: UNAUTHENTICATED with a text that says which check failed and shows nothing of the
  // token.
  absl::StatusOr<ProvedIdentity> Verify(std::string_view token, absl::Time now) const;

 private:
  std::vector<std::pair<JwtIssuer, KeySet>> issuers_;
};

}  // namespace lockkeeper::access
