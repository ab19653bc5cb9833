// SPDX-License-Identifier: Apache-2.0
#include "redis/format/reassertion.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <array>
#include <charconv>
#include <span>

#include "redis/format/append_number.h"

namespace lockkeeper::redis {
namespace {

// The second is that of a lease with hold_at_least, whose end is one number more.
constexpr std::string_view kFormat = "2";
constexpr std::string_view kFormatWithHold = "3";
constexpr size_t kKeyBytes = 16;
constexpr size_t kDigestBytes = 16;
constexpr char kSeparator = '.';

struct FreeMac {
  void operator()(EVP_MAC* mac) const { EVP_MAC_free(mac); }
  void operator()(EVP_MAC_CTX* context) const { EVP_MAC_CTX_free(context); }
};

void AppendHex(std::string& to, std::span<const unsigned char> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  constexpr unsigned kNibble = 4;
  constexpr unsigned kLow = 15;
  for (const unsigned char byte : bytes) {
    to += kDigits[byte >> kNibble];
    to += kDigits[byte & kLow];
  }
}

// Nothing unless `digits` are as many hex digits as a key has.
std::optional<std::array<unsigned char, kKeyBytes>> KeyOf(std::string_view digits) {
  std::array<unsigned char, kKeyBytes> key{};
  if (digits.size() != 2 * key.size()) return std::nullopt;
  for (size_t i = 0; i < key.size(); ++i) {
    const char* const at = digits.data() + 2 * i;
    if (std::from_chars(at, at + 2, key[i], 16).ptr != at + 2) return std::nullopt;
  }
  return key;
}

std::string TextOf(const ProvedTerms& terms) {
  const bool has_hold = terms.hold_end.micros > 0;
  std::string text(has_hold ? kFormatWithHold : kFormat);
  constexpr size_t kBytesOfProof = 112;  // With the digest that will follow.
  text.reserve(kBytesOfProof);
  const auto add = [&text](int64_t number) {
    text += kSeparator;
    AppendNumber(text, number);
  };
  add(terms.ttl.count());
  add(terms.lock_delay.count());
  add(terms.max_hold_end.micros);
  add(terms.lease_end.micros);
  if (has_hold) add(terms.hold_end.micros);
  return text;
}

std::optional<ProvedTerms> ReadTerms(std::string_view text) {
  const bool has_hold = text.starts_with(kFormatWithHold);
  if (!has_hold && !text.starts_with(kFormat)) return std::nullopt;
  text.remove_prefix(kFormat.size());
  std::array<int64_t, 5> numbers{};
  for (int64_t& number : std::span(numbers).first(has_hold ? 5 : 4)) {
    if (text.empty() || text.front() != kSeparator) return std::nullopt;
    text.remove_prefix(1);
    const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
    if (read.ec != std::errc() || number < 0) return std::nullopt;
    text.remove_prefix(static_cast<size_t>(read.ptr - text.data()));
  }
  if (!text.empty()) return std::nullopt;
  return ProvedTerms{
      core::Millis(numbers[0]), core::Millis(numbers[1]), {numbers[2]}, {numbers[3]}, {numbers[4]}};
}

}  // namespace

struct Reassertions::Mac {
  std::unique_ptr<EVP_MAC, FreeMac> algorithm{EVP_MAC_fetch(nullptr, "SIPHASH", nullptr)};
  std::unique_ptr<EVP_MAC_CTX, FreeMac> context{EVP_MAC_CTX_new(algorithm.get())};
  std::array<unsigned char, kKeyBytes> key{};
  std::string text;  // What the last digest was made of: keeps its room.
};

Reassertions::Reassertions() : mac_(std::make_unique<Mac>()) {}
Reassertions::~Reassertions() = default;

void Reassertions::SetKey(std::string_view key) {
  if (key == key_) return;
  const std::optional<std::array<unsigned char, kKeyBytes>> bytes = KeyOf(key);
  key_ = bytes ? key : std::string_view();
  if (bytes) mac_->key = *bytes;
}

// Appends the digest of all parts with their lengths, so that no two leases have the same. False if
// it cannot be made.
bool Reassertions::AppendDigest(const ProvedLease& lease, std::string_view terms, std::string& to) {
  std::string& text = mac_->text;
  text.clear();
  const auto add = [&text](std::string_view part) {
    AppendNumber(text, static_cast<int64_t>(part.size()));
    text.append(":").append(part);
  };
  add(lease.name);
  add(lease.lease_id.digits());
  AppendNumber(text, lease.token.value);
  text += kSeparator;
  add(lease.principal);
  add(terms);
  std::array<unsigned char, kDigestBytes> digest{};
  size_t size = 0;
  EVP_MAC_CTX* const context = mac_->context.get();
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  if (EVP_MAC_init(context, mac_->key.data(), mac_->key.size(), nullptr) != 1 ||
      EVP_MAC_update(context, bytes, text.size()) != 1 ||
      EVP_MAC_final(context, digest.data(), &size, digest.size()) != 1 || size != kDigestBytes) {
    return false;
  }
  AppendHex(to, digest);
  return true;
}

std::string Reassertions::Make(const ProvedLease& lease, const ProvedTerms& terms) {
  if (key_.empty()) return "";
  std::string proof = TextOf(terms);
  const size_t length = proof.size();
  proof += kSeparator;
  return AppendDigest(lease, std::string_view(proof).substr(0, length), proof) ? proof : "";
}

std::optional<ProvedTerms> Reassertions::Check(const ProvedLease& lease, std::string_view proof) {
  const size_t at = proof.rfind(kSeparator);
  if (key_.empty() || at == std::string_view::npos) return std::nullopt;
  const std::string_view terms = proof.substr(0, at);
  const std::string_view given = proof.substr(at + 1);
  std::string digest;
  if (!AppendDigest(lease, terms, digest) || given.size() != digest.size() ||
      CRYPTO_memcmp(given.data(), digest.data(), digest.size()) != 0) {
    return std::nullopt;
  }
  return ReadTerms(terms);
}

}  // namespace lockkeeper::redis
