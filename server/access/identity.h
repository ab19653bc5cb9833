// SPDX-License-Identifier: Apache-2.0
//
// Who calls, as far as it was proved.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "text/principal.h"

namespace lockkeeper::access {

// How a caller proved who it is.
enum class Proof { kNone, kCertificate, kToken, kJwt };
inline constexpr size_t kProofs = static_cast<size_t>(Proof::kJwt) + 1;

// "anonymous", "certificate", "token", "jwt": as policies and records name it.
std::string_view NameOf(Proof proof);

using text::CheckPrincipal;
using text::IsPrincipal;
using text::kAnonymous;
using text::kPrincipalBytesMax;

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

}  // namespace lockkeeper::access
