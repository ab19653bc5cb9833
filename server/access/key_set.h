// SPDX-License-Identifier: Apache-2.0
//
// The public keys of an issuer of JWTs, as a JSON Web Key Set (RFC 7517): RSA of at least 2,048
// bits (for RS256), P-256 (for ES256) and Ed25519 (for EdDSA). Other keys are left out, since an
// issuer may have keys that are not for us.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/problem.h"

struct evp_pkey_st;

namespace lockkeeper::access {

// RFC 7518 section 3.1, RFC 8037. Nothing else verifies a JWT, whatever its header says.
enum class Signature { kRs256, kEs256, kEdDsa };
std::optional<Signature> SignatureOf(std::string_view alg);

// Thread-safety: thread-safe, as nothing changes it.
class KeySet {
 public:
  // Fills `to`. A set of which no key can be used is a problem.
  static text::Problem Parse(std::string_view json, KeySet& to);

  size_t size() const { return keys_.size(); }

  // Whether `signature` is that of `text` with a key of this set that is for `kind`, and has the
  // id `key_id`, unless `key_id` is empty.
  bool Verify(Signature kind, std::string_view key_id, std::string_view text,
              std::string_view signature) const;

 private:
  struct Key {
    Signature kind;
    std::string id;
    std::shared_ptr<evp_pkey_st> key;
  };

  std::vector<Key> keys_;
};

}  // namespace lockkeeper::access
