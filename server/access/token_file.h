// SPDX-License-Identifier: Apache-2.0
//
// Bearer tokens: random texts that prove a name. The file holds their SHA-256 hashes, so that
// whoever reads it cannot use them. `lockkeeper token create` makes a token and its entry.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "access/identity.h"

namespace lockkeeper::access {

// Longest token, in bytes.
inline constexpr size_t kTokenBytesMax = 256;

// Thread-safety: thread-safe, as nothing changes it.
class Tokens {
 public:
  // Who the token proves the caller to be.
  // Errors: UNAUTHENTICATED: it is unknown or has expired.
  absl::StatusOr<ProvedIdentity> Verify(std::string_view token, absl::Time now) const;

  size_t size() const { return by_hash_.size(); }

  // The principals that some token proves, expired or not.
  std::set<std::string_view> names() const;

  struct Entry {
    std::string name;
    absl::Time expires = absl::InfiniteFuture();
  };
  // Keys are SHA-256 hashes in hex: looking one up tells nothing about a token.
  explicit Tokens(absl::flat_hash_map<std::string, Entry> by_hash = {})
      : by_hash_(std::move(by_hash)) {}

 private:
  absl::flat_hash_map<std::string, Entry> by_hash_;
};

struct TokenFile {
  Tokens tokens;
  std::vector<std::string> problems;  // Each with "file:line: " before it. With one, do not use it.
  std::vector<std::string> warnings;
};

// `path` appears in the problems. A text that is not valid YAML is a problem.
TokenFile ParseTokens(std::string_view text, const std::string& path, absl::Time now);

// The SHA-256 hash of `token`, 64 hex digits in lower case.
std::string HashToken(std::string_view token);

}  // namespace lockkeeper::access
