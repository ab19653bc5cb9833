// SPDX-License-Identifier: Apache-2.0
#include "access/key_set.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "absl/strings/escaping.h"

namespace lockkeeper::access {
namespace {

using nlohmann::json;

constexpr int kRsaBitsMin = 2048;
constexpr int kRsaBitsMax = 8192;  // More only makes us compute.
constexpr size_t kP256Bytes = 32;
constexpr size_t kEd25519Bytes = 32;
// The public keys for which signatures need no private key: the points of small order, also where
// y is written with p added to it. In hex, without the sign of x.
constexpr std::array<std::string_view, 7> kEd25519Weak = {
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0100000000000000000000000000000000000000000000000000000000000000",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"};
// Issuers have two or three, while they change keys.
constexpr size_t kKeysMax = 64;

template <auto Free>
struct FreeBy {
  template <typename T>
  void operator()(T* object) const {
    Free(object);
  }
};
using BigNumber = std::unique_ptr<BIGNUM, FreeBy<BN_free>>;
using Builder = std::unique_ptr<OSSL_PARAM_BLD, FreeBy<OSSL_PARAM_BLD_free>>;
using Parameters = std::unique_ptr<OSSL_PARAM, FreeBy<OSSL_PARAM_free>>;
using KeyContext = std::unique_ptr<EVP_PKEY_CTX, FreeBy<EVP_PKEY_CTX_free>>;
using DigestContext = std::unique_ptr<EVP_MD_CTX, FreeBy<EVP_MD_CTX_free>>;
using EcdsaSignature = std::unique_ptr<ECDSA_SIG, FreeBy<ECDSA_SIG_free>>;
using PublicKey = std::shared_ptr<EVP_PKEY>;

const unsigned char* Bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

PublicKey Own(EVP_PKEY* key) { return {key, EVP_PKEY_free}; }

// The text member `name` of `object`, empty if there is none.
std::string TextOf(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

// The member `name`, which is base64url without padding; empty if there is none or it is not.
std::string BytesOf(const json& object, const char* name) {
  std::string bytes;
  return absl::WebSafeBase64Unescape(TextOf(object, name), &bytes) ? bytes : "";
}

PublicKey FromParameters(const char* kind, OSSL_PARAM_BLD* builder) {
  const Parameters parameters(OSSL_PARAM_BLD_to_param(builder));
  const KeyContext context(EVP_PKEY_CTX_new_from_name(nullptr, kind, nullptr));
  EVP_PKEY* key = nullptr;
  if (parameters == nullptr || context == nullptr || EVP_PKEY_fromdata_init(context.get()) != 1 ||
      EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY, parameters.get()) != 1) {
    return nullptr;
  }
  return Own(key);
}

PublicKey ReadRsa(const json& jwk) {
  const std::string modulus = BytesOf(jwk, "n");
  const std::string exponent = BytesOf(jwk, "e");
  if (modulus.empty() || exponent.empty() || modulus.size() > kRsaBitsMax / 8 + 1 ||
      exponent.size() > sizeof(uint64_t)) {
    return nullptr;
  }
  const BigNumber n(BN_bin2bn(Bytes(modulus), static_cast<int>(modulus.size()), nullptr));
  const BigNumber e(BN_bin2bn(Bytes(exponent), static_cast<int>(exponent.size()), nullptr));
  const Builder builder(OSSL_PARAM_BLD_new());
  // RFC 8017 section 3.1: e is odd, and 3 or more. With 1 everybody could sign.
  if (BN_num_bits(n.get()) < kRsaBitsMin || BN_is_odd(e.get()) != 1 || BN_is_one(e.get()) == 1 ||
      OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, n.get()) != 1 ||
      OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, e.get()) != 1) {
    return nullptr;
  }
  return FromParameters("RSA", builder.get());
}

PublicKey ReadP256(const json& jwk) {
  const std::string x = BytesOf(jwk, "x");
  const std::string y = BytesOf(jwk, "y");
  if (TextOf(jwk, "crv") != "P-256" || x.size() != kP256Bytes || y.size() != kP256Bytes) {
    return nullptr;
  }
  const std::string point = "\x04" + x + y;  // Uncompressed: SEC 1, section 2.3.3.
  const Builder builder(OSSL_PARAM_BLD_new());
  if (OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0) !=
          1 ||
      OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(),
                                       point.size()) != 1) {
    return nullptr;
  }
  return FromParameters("EC", builder.get());
}

PublicKey ReadEd25519(const json& jwk) {
  const std::string x = BytesOf(jwk, "x");
  if (TextOf(jwk, "crv") != "Ed25519" || x.size() != kEd25519Bytes) return nullptr;
  std::string without_sign = x;
  without_sign.back() = static_cast<char>(x.back() & 0x7f);
  const std::string hex = absl::BytesToHexString(without_sign);
  if (std::find(kEd25519Weak.begin(), kEd25519Weak.end(), hex) != kEd25519Weak.end()) {
    return nullptr;
  }
  EVP_PKEY* const key = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, Bytes(x), x.size());
  return key == nullptr ? nullptr : Own(key);
}

// A signature of a JWT is r and s, 32 bytes each (RFC 7518 section 3.4); OpenSSL wants DER.
std::string ToDer(std::string_view signature) {
  if (signature.size() != 2 * kP256Bytes) return "";
  const EcdsaSignature pair(ECDSA_SIG_new());
  BIGNUM* const r = BN_bin2bn(Bytes(signature), kP256Bytes, nullptr);
  BIGNUM* const s = BN_bin2bn(Bytes(signature.substr(kP256Bytes)), kP256Bytes, nullptr);
  ECDSA_SIG_set0(pair.get(), r, s);
  unsigned char* der = nullptr;
  const int size = i2d_ECDSA_SIG(pair.get(), &der);
  if (size <= 0) return "";
  std::string text(reinterpret_cast<const char*>(der), static_cast<size_t>(size));
  OPENSSL_free(der);
  return text;
}

bool VerifyWith(EVP_PKEY* key, Signature kind, std::string_view text, std::string_view signature) {
  const DigestContext context(EVP_MD_CTX_new());
  const EVP_MD* const digest = kind == Signature::kEdDsa ? nullptr : EVP_sha256();
  const bool is_right = EVP_DigestVerifyInit(context.get(), nullptr, digest, nullptr, key) == 1 &&
                        EVP_DigestVerify(context.get(), Bytes(signature), signature.size(),
                                         Bytes(text), text.size()) == 1;
  ERR_clear_error();
  return is_right;
}

}  // namespace

std::optional<Signature> SignatureOf(std::string_view alg) {
  if (alg == "RS256") return Signature::kRs256;
  if (alg == "ES256") return Signature::kEs256;
  if (alg == "EdDSA") return Signature::kEdDsa;
  return std::nullopt;
}

text::Problem KeySet::Parse(std::string_view text, KeySet& to) {
  const json set = json::parse(text, nullptr, /*allow_exceptions=*/false);
  const auto keys = set.is_object() ? set.find("keys") : set.end();
  if (!set.is_object() || keys == set.end() || !keys->is_array()) {
    return "is no JSON Web Key Set: it must be {\"keys\": [...]}";
  }
  if (keys->size() > kKeysMax) {
    return "has " + std::to_string(keys->size()) + " keys, at most " + std::to_string(kKeysMax) +
           " are expected";
  }
  KeySet parsed;
  for (const json& jwk : *keys) {
    if (!jwk.is_object()) continue;
    const std::string use = TextOf(jwk, "use");
    if (!use.empty() && use != "sig") continue;
    const std::string type = TextOf(jwk, "kty");
    Key key{.kind = Signature::kRs256, .id = TextOf(jwk, "kid"), .key = nullptr};
    if (type == "RSA") {
      key.key = ReadRsa(jwk);
    } else if (type == "EC") {
      key.kind = Signature::kEs256;
      key.key = ReadP256(jwk);
    } else if (type == "OKP") {
      key.kind = Signature::kEdDsa;
      key.key = ReadEd25519(jwk);
    }
    const std::string alg = TextOf(jwk, "alg");
    const bool is_for_other_alg = !alg.empty() && SignatureOf(alg) != key.kind;
    if (key.key != nullptr && !is_for_other_alg) parsed.keys_.push_back(std::move(key));
    ERR_clear_error();
  }
  if (parsed.keys_.empty()) {
    return "has no key that can be used: RSA of at least 2048 bits, P-256 or Ed25519, for "
           "signatures";
  }
  to = std::move(parsed);
  return std::nullopt;
}

bool KeySet::Verify(Signature kind, std::string_view key_id, std::string_view text,
                    std::string_view signature) const {
  std::string der;
  if (kind == Signature::kEs256) {
    der = ToDer(signature);
    if (der.empty()) return false;
    signature = der;
  }
  return std::any_of(keys_.begin(), keys_.end(), [&](const Key& key) {
    return key.kind == kind && (key_id.empty() || key.id == key_id) &&
           VerifyWith(key.key.get(), kind, text, signature);
  });
}

}  // namespace lockkeeper::access
