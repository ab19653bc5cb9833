// SPDX-License-Identifier: Apache-2.0
//
// A key pair of an issuer of JWTs, made for a test, and the JWTs that it signs.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "access/key_set.h"

struct evp_pkey_st;

namespace lockkeeper::support {

// base64url without padding.
std::string Base64Url(std::string_view bytes);

// Thread-safety: const methods are thread-safe.
class KeyPair {
 public:
  // `bits`: of an RSA key.
  explicit KeyPair(access::Signature kind, int bits = 2048);

  // The public key as a JSON Web Key.
  std::string Jwk(const std::string& id) const;

  // The signature in the form of a JWT.
  std::string Sign(const std::string& text) const;

  // "RS256"
  std::string alg() const;

  // A JWT with these claims, which are JSON. `header`: instead of the usual one with the id "k".
  std::string Jwt(const std::string& claims, std::string header = "") const;

 private:
  std::string Number(const char* name, int bytes = 0) const;

  const access::Signature kind_;
  std::shared_ptr<evp_pkey_st> key_;
};

// A JSON Web Key Set.
std::string KeySetOf(const std::vector<std::string>& keys);

}  // namespace lockkeeper::support
