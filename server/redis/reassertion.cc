// SPDX-License-Identifier: Apache-2.0
#include "redis/reassertion.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include <array>
#include <charconv>

namespace lockkeeper::redis {
namespace {

constexpr std::string_view kFormat = "1";
constexpr size_t kDigestBytes = 16;
constexpr char kSeparator = '.';

struct FreeMac {
  void operator()(EVP_MAC* mac) const { EVP_MAC_free(mac); }
  void operator()(EVP_MAC_CTX* context) const { EVP_MAC_CTX_free(context); }
};

std::string Hex(const unsigned char* bytes, size_t count) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  constexpr unsigned kNibble = 4;
  constexpr unsigned kLow = 15;
  std::string text;
  text.reserve(count * 2);
  for (size_t i = 0; i < count; ++i) {
    text += kDigits[bytes[i] >> kNibble];
    text += kDigits[bytes[i] & kLow];
  }
  return text;
}

std::string TextOf(const ProvedTerms& terms) {
  std::string text(kFormat);
  for (const int64_t number :
       {terms.ttl.count(), terms.lock_delay.count(), terms.max_hold_end.micros}) {
    text += kSeparator;
    text += std::to_string(number);
  }
  return text;
}

std::optional<ProvedTerms> ReadTerms(std::string_view text) {
  if (!text.starts_with(kFormat)) return std::nullopt;
  text.remove_prefix(kFormat.size());
  std::array<int64_t, 3> numbers{};
  for (int64_t& number : numbers) {
    if (text.empty() || text.front() != kSeparator) return std::nullopt;
    text.remove_prefix(1);
    const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
    if (read.ec != std::errc() || number < 0) return std::nullopt;
    text.remove_prefix(static_cast<size_t>(read.ptr - text.data()));
  }
  if (!text.empty()) return std::nullopt;
  return ProvedTerms{core::Millis(numbers[0]), core::Millis(numbers[1]), {numbers[2]}};
}

}  // namespace

struct Reassertions::Mac {
  std::unique_ptr<EVP_MAC, FreeMac> algorithm{EVP_MAC_fetch(nullptr, "HMAC", nullptr)};
  std::unique_ptr<EVP_MAC_CTX, FreeMac> context{EVP_MAC_CTX_new(algorithm.get())};
};

Reassertions::Reassertions() : mac_(std::make_unique<Mac>()) {}
Reassertions::~Reassertions() = default;

void Reassertions::SetKey(const std::string& key) {
  if (key == key_) return;
  key_ = key;
  std::array<char, 7> digest{"SHA256"};
  const std::array<OSSL_PARAM, 2> parameters = {
      OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest.data(), 0),
      OSSL_PARAM_construct_end()};
  const auto* bytes = reinterpret_cast<const unsigned char*>(key_.data());
  if (EVP_MAC_init(mac_->context.get(), bytes, key_.size(), parameters.data()) != 1) key_.clear();
}

// Of all parts with their lengths, so that no two leases have the same. Empty if it cannot be made.
std::string Reassertions::Digest(const ProvedLease& lease, std::string_view terms) {
  std::string text;
  const auto add = [&text](std::string_view part) {
    text.append(std::to_string(part.size())).append(":").append(part);
  };
  add(lease.name);
  add(lease.lease_id.digits());
  add(std::to_string(lease.token.value));
  add(lease.principal);
  add(terms);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  size_t size = 0;
  EVP_MAC_CTX* const context = mac_->context.get();
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  if (EVP_MAC_init(context, nullptr, 0, nullptr) != 1 ||
      EVP_MAC_update(context, bytes, text.size()) != 1 ||
      EVP_MAC_final(context, digest.data(), &size, digest.size()) != 1 || size < kDigestBytes) {
    return "";
  }
  return Hex(digest.data(), kDigestBytes);
}

std::string Reassertions::Make(const ProvedLease& lease, const ProvedTerms& terms) {
  if (key_.empty()) return "";
  std::string text = TextOf(terms);
  const std::string digest = Digest(lease, text);
  return digest.empty() ? "" : text + kSeparator + digest;
}

std::optional<ProvedTerms> Reassertions::Check(const ProvedLease& lease, std::string_view proof) {
  const size_t at = proof.rfind(kSeparator);
  if (key_.empty() || at == std::string_view::npos) return std::nullopt;
  const std::string_view terms = proof.substr(0, at);
  const std::string_view given = proof.substr(at + 1);
  const std::string digest = Digest(lease, terms);
  if (digest.empty() || given.size() != digest.size() ||
      CRYPTO_memcmp(given.data(), digest.data(), digest.size()) != 0) {
    return std::nullopt;
  }
  return ReadTerms(terms);
}

}  // namespace lockkeeper::redis
