// SPDX-License-Identifier: Apache-2.0
//
// An issuer's key set. Whatever other keys stand in it, a good one is found, and none takes a
// signature that needs no private key.
#include "access/key_set.h"

#include <openssl/err.h>
#include <openssl/sha.h>

#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/target.h"
#include "support/access/key_pair.h"

namespace lockkeeper {
namespace {

using access::KeySet;
using access::Signature;
using fuzz::Require;
using nlohmann::json;

constexpr char kText[] = "header.claims";
constexpr char kOwnId[] = "the target's own key";

// The hash of kText with PKCS #1's padding: the signature under an RSA key of 2,048 bits whose
// exponent is 1.
std::string PaddedHash() {
  constexpr std::string_view kIsSha256(
      "\x30\x31\x30\x0d\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x01\x05\x00\x04\x20", 19);
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  const std::string_view text(kText);
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  const std::string hash = std::string(kIsSha256) + std::string(digest.begin(), digest.end());
  return std::string("\0\1", 2) + std::string(256 - hash.size() - 3, '\xff') + '\0' + hash;
}

struct OwnKey {
  const support::KeyPair pair{Signature::kRs256};
  const json jwk = json::parse(pair.Jwk(kOwnId));
  const std::string signature = pair.Sign(kText);
  const std::vector<std::string> not_signatures = {"", std::string(64, '\0'),
                                                   "\1" + std::string(63, '\0'),
                                                   std::string(256, '\0'), PaddedHash()};
};

// The set with our key behind the others; empty if it is none.
std::string WithOwnKey(std::string_view text, const OwnKey& own) {
  json set = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!set.is_object()) return "";
  const auto keys = set.find("keys");
  if (keys == set.end() || !keys->is_array() || keys->size() >= 64) return "";
  keys->push_back(own.jwk);
  return set.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto* const kOwnKey = new OwnKey;
  const std::string_view text = fuzz::TextOf(data, size);
  KeySet keys;
  const text::Problem problem = KeySet::Parse(text, keys);
  Require(ERR_peek_error() == 0, "no error of OpenSSL is left to the next who asks");
  Require(problem.has_value() == (keys.size() == 0), "a set has a key, or a problem");
  if (problem) {
    fuzz::RequireOneLine(*problem);
  } else {
    Require(keys.size() <= 64, "a set has a size");
    for (const Signature kind : {Signature::kRs256, Signature::kEs256, Signature::kEdDsa}) {
      for (const std::string& signature : kOwnKey->not_signatures) {
        Require(!keys.Verify(kind, "", kText, signature), "a signature needs a private key");
      }
    }
  }
  const std::string more = WithOwnKey(text, *kOwnKey);
  if (more.empty()) return 0;
  Require(!KeySet::Parse(more, keys), "a set with a good key is good");
  Require(keys.Verify(Signature::kRs256, kOwnId, kText, kOwnKey->signature), "a good key is found");
  Require(!keys.Verify(Signature::kRs256, kOwnId, "header.other", kOwnKey->signature),
          "a signature is for one text");
  Require(!keys.Verify(Signature::kEs256, kOwnId, kText, kOwnKey->signature),
          "a key is for one kind of signature");
  return 0;
}

}  // namespace lockkeeper
