// SPDX-License-Identifier: Apache-2.0
//
// Who calls, as far as it was proved.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "text/problem.h"

namespace lockkeeper::access {

// How a caller proved who it is.
enum class Proof { kNone, kCertificate, kToken, kJwt };
inline constexpr size_t kProofs = static_cast<size_t>(Proof::kJwt) + 1;

// "anonymous", "certificate", "token", "jwt": as policies and records name it.
std::string_view NameOf(Proof proof);

// The principal of callers that prove nothing. No proof gives this name.
inline constexpr std::string_view kAnonymous = "anonymous";

// Longest name of a principal, in bytes; a SPIFFE id may have 2,048, but every lease keeps one.
inline constexpr size_t kPrincipalBytesMax = 256;

struct Identity {
  std::string principal{kAnonymous};
  Proof proof = Proof::kNone;
  std::string issuer;  // Of a JWT, its `iss`; else empty.

  friend bool operator==(const Identity&, const Identity&) = default;
};

// What a proof says, and how long it counts.
struct ProvedIdentity {
  Identity identity;
  absl::Time until = absl::InfiniteFuture();

  friend bool operator==(const ProvedIdentity&, const ProvedIdentity&) = default;
};

// For people: `principal "ci" (token)`, or `an anonymous caller`.
std::string DescriptionOf(const Identity& identity);

// A principal is 1 to kPrincipalBytesMax bytes of UTF-8 without control characters, and not
// "anonymous".
bool IsPrincipal(std::string_view name);

// The same; the problem names the rule and shows `name`.
text::Problem CheckPrincipal(std::string_view name);

}  // namespace lockkeeper::access
