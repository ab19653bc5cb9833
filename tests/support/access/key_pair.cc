// SPDX-License-Identifier: Apache-2.0
#include "support/access/key_pair.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace lockkeeper::support {
namespace {

using access::Signature;

EVP_PKEY* Make(Signature kind, int bits) {
  switch (kind) {
    case Signature::kRs256:
      return EVP_RSA_gen(static_cast<unsigned>(bits));
    case Signature::kEs256:
      return EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256");
    case Signature::kEdDsa:
      break;
  }
  return EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519");
}

std::string FromDer(const std::string& der) {
  const auto* begin = reinterpret_cast<const unsigned char*>(der.data());
  ECDSA_SIG* pair = d2i_ECDSA_SIG(nullptr, &begin, static_cast<long>(der.size()));
  std::string raw(64, '\0');
  auto* out = reinterpret_cast<unsigned char*>(raw.data());
  BN_bn2binpad(ECDSA_SIG_get0_r(pair), out, 32);
  BN_bn2binpad(ECDSA_SIG_get0_s(pair), out + 32, 32);
  ECDSA_SIG_free(pair);
  return raw;
}

}  // namespace

std::string Base64Url(std::string_view bytes) {
  return absl::WebSafeBase64Escape(absl::string_view(bytes.data(), bytes.size()));
}

KeyPair::KeyPair(Signature kind, int bits) : kind_(kind), key_(Make(kind, bits), EVP_PKEY_free) {}

std::string KeyPair::Jwk(const std::string& id) const {
  switch (kind_) {
    case Signature::kRs256:
      return absl::StrCat(R"({"kty":"RSA","kid":")", id, R"(","n":")",
                          Base64Url(Number(OSSL_PKEY_PARAM_RSA_N)), R"(","e":")",
                          Base64Url(Number(OSSL_PKEY_PARAM_RSA_E)), "\"}");
    case Signature::kEs256:
      return absl::StrCat(R"({"kty":"EC","crv":"P-256","kid":")", id, R"(","x":")",
                          Base64Url(Number(OSSL_PKEY_PARAM_EC_PUB_X, 32)), R"(","y":")",
                          Base64Url(Number(OSSL_PKEY_PARAM_EC_PUB_Y, 32)), "\"}");
    case Signature::kEdDsa:
      break;
  }
  std::string raw(32, '\0');
  size_t size = raw.size();
  EVP_PKEY_get_raw_public_key(key_.get(), reinterpret_cast<unsigned char*>(raw.data()), &size);
  return absl::StrCat(R"({"kty":"OKP","crv":"Ed25519","kid":")", id, R"(","x":")", Base64Url(raw),
                      "\"}");
}

std::string KeyPair::Sign(const std::string& text) const {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                        EVP_MD_CTX_free);
  const EVP_MD* digest = kind_ == Signature::kEdDsa ? nullptr : EVP_sha256();
  EVP_DigestSignInit(context.get(), nullptr, digest, nullptr, key_.get());
  std::string signature(1024, '\0');
  size_t size = signature.size();
  EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                 reinterpret_cast<const unsigned char*>(text.data()), text.size());
  signature.resize(size);
  return kind_ == Signature::kEs256 ? FromDer(signature) : signature;
}

std::string KeyPair::alg() const {
  return kind_ == Signature::kRs256 ? "RS256" : kind_ == Signature::kEs256 ? "ES256" : "EdDSA";
}

std::string KeyPair::Jwt(const std::string& claims, std::string header) const {
  if (header.empty()) header = R"({"alg":")" + alg() + R"(","kid":"k","typ":"JWT"})";
  const std::string text = Base64Url(header) + "." + Base64Url(claims);
  return text + "." + Base64Url(Sign(text));
}

std::string KeyPair::Number(const char* name, int bytes) const {
  BIGNUM* number = nullptr;
  EVP_PKEY_get_bn_param(key_.get(), name, &number);
  const int size = bytes > 0 ? bytes : BN_num_bytes(number);
  std::string text(static_cast<size_t>(size), '\0');
  BN_bn2binpad(number, reinterpret_cast<unsigned char*>(text.data()), size);
  BN_free(number);
  return text;
}

std::string KeySetOf(const std::vector<std::string>& keys) {
  return "{\"keys\":[" + absl::StrJoin(keys, ",") + "]}";
}

}  // namespace lockkeeper::support
