// SPDX-License-Identifier: Apache-2.0
//
// Who a caller is and what it may do, by one state of the files: policy, tokens and keys. Nothing
// changes a rulebook; when a file changes, another one takes its place (access_control.h).
#pragma once

#include <memory>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "access/identity.h"
#include "access/jwt.h"
#include "access/policy.h"
#include "access/policy_file.h"
#include "access/token_file.h"

namespace lockkeeper::access {

// What a call shows to prove who makes it. Lifetime: borrows its texts.
struct Credentials {
  // The names in the client's certificate, which the transport has verified.
  struct Certificate {
    std::vector<std::string_view> spiffe_ids;
    std::vector<std::string_view> dns_names;
    std::string_view common_name;
  };
  std::optional<Certificate> certificate;
  // The values of the metadata key `authorization`.
  std::vector<std::string_view> authorization;
};

// A caller as a rulebook sees it.
struct Standing {
  Identity identity;
  std::shared_ptr<const Rights> rights;
  absl::Time until = absl::InfiniteFuture();  // Its proof counts until then.
};

// Thread-safety: thread-safe.
class Rulebook {
 public:
  // Everybody may do everything. A certificate gives a name; bearer tokens are rejected.
  Rulebook() : Rulebook({}, Tokens(), JwtVerifier()) {}

  // Requires: `policy` has no problems, and `jwts` are those of its issuers.
  Rulebook(PolicyFile policy, Tokens tokens, JwtVerifier jwts);

  // A bearer token counts more than a certificate: it names the caller, where the certificate may
  // be that of a proxy. A caller that shows nothing is anonymous.
  // Errors: UNAUTHENTICATED: what it shows proves nothing. It is never anonymous instead.
  absl::StatusOr<std::shared_ptr<const Standing>> Identify(const Credentials& shown,
                                                           absl::Time now) const;

  // Whether roles or bindings limit what callers may do.
  bool restricts() const { return policy_file_.policy.restrict(); }

  // What it consists of.
  struct Size {
    size_t roles = 0;
    size_t bindings = 0;
    size_t jwt_issuers = 0;
    size_t tokens = 0;
  };
  Size size() const {
    return {.roles = policy_file_.policy.roles.size(),
            .bindings = policy_file_.policy.bindings.size(),
            .jwt_issuers = policy_file_.issuers.size(),
            .tokens = tokens_.size()};
  }

  // How many callers it remembers, so that a repeated proof costs little.
  size_t remembered() const;

 private:
  using Remembered = absl::flat_hash_map<std::string, std::shared_ptr<const Standing>>;

  absl::StatusOr<ProvedIdentity> Prove(const Credentials& shown, absl::Time now) const;
  absl::StatusOr<ProvedIdentity> ProveByCertificate(const Credentials::Certificate& shown) const;
  absl::StatusOr<ProvedIdentity> ProveByToken(std::string_view token, absl::Time now) const;
  std::shared_ptr<const Standing> StandingOf(ProvedIdentity proved) const;

  const PolicyFile policy_file_;
  const Policy policy_;
  const Tokens tokens_;
  const JwtVerifier jwts_;
  const std::shared_ptr<const Standing> anonymous_;

  // Those that were identified before, by what they showed; tokens are hashed.
  mutable std::shared_mutex mutex_;
  mutable Remembered remembered_;
};

}  // namespace lockkeeper::access
