// SPDX-License-Identifier: Apache-2.0
#include "access/token_file.h"

#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "config/yaml_reader.h"
#include "core/errors.h"
#include "text/problem.h"

namespace lockkeeper::access {
namespace {

using core::Error;
using enum core::ErrorReason;

constexpr size_t kHashHexBytes = 2 * SHA256_DIGEST_LENGTH;

class TokenReader {
 public:
  TokenReader(const std::string& path, absl::Time now) : now_(now), yaml_(path) {}

  TokenFile Parse(std::string_view text) {
    yaml_.Read(text, [this](const YAML::Node& document) { ReadDocument(document); });
    return Finish();
  }

 private:
  void ReadDocument(const YAML::Node& document) {
    if (!document.IsDefined() || document.IsNull()) return;  // Nothing but comments.
    yaml_.ReadMapOf(
        document, "the file",
        [this](const std::string& name, const YAML::Node& key, const YAML::Node& value) {
          if (name != "tokens") return yaml_.Reject(key, name + ": unknown key; there is tokens");
          if (value.IsNull()) return;
          if (!value.IsSequence()) return yaml_.Reject(value, "tokens: must be a list");
          for (const YAML::Node& item : value) ReadToken(item);
        });
  }

  void ReadToken(const YAML::Node& item) {
    const std::string what = "tokens[" + std::to_string(++number_) + "]";
    std::string hash;
    Tokens::Entry entry;
    yaml_.ReadMapOf(
        item, what,
        [&](const std::string& key_name, const YAML::Node& key, const YAML::Node& value) {
          const auto text = yaml_.ReadText(value, what + "." + key_name);
          if (!text) return;
          if (key_name == "name") {
            entry.name = *text;
          } else if (key_name == "sha256") {
            hash = *text;
          } else if (key_name == "expires") {
            ReadExpiry(value, what, *text, entry);
          } else {
            yaml_.Reject(key,
                         what + "." + key_name + ": unknown key (there are name, sha256, expires)");
          }
        });
    if (const text::Problem problem = CheckPrincipal(entry.name)) {
      yaml_.Reject(item, what + ".name: " + *problem);
    }
    const bool is_hex =
        hash.size() == kHashHexBytes && std::all_of(hash.begin(), hash.end(), [](char c) {
          return absl::ascii_isxdigit(static_cast<unsigned char>(c));
        });
    // What is no hash may be the token itself: do not show it.
    if (!is_hex) {
      return yaml_.Reject(item, what +
                                    ".sha256: must be 64 hexadecimal digits, as "
                                    "`lockkeeper token hash` prints them");
    }
    if (entry.expires <= now_) {
      warnings_.push_back(yaml_.NoteAt(config::YamlReader::LineOf(item), what + ": has expired"));
    }
    if (!by_hash_.emplace(absl::AsciiStrToLower(hash), std::move(entry)).second) {
      yaml_.Reject(item, what + ".sha256: another entry has the same token");
    }
  }

  void ReadExpiry(const YAML::Node& value, const std::string& what, const std::string& text,
                  Tokens::Entry& entry) {
    std::string error;
    if (absl::ParseTime(absl::RFC3339_full, text, &entry.expires, &error)) return;
    yaml_.Reject(value, what + ".expires: must be a time such as 2027-01-31T00:00:00Z, is " +
                            text::Quoted(text));
  }

  TokenFile Finish() {
    return {.tokens = Tokens(std::move(by_hash_)),
            .problems = yaml_.TakeProblems(),
            .warnings = std::move(warnings_)};
  }

  const absl::Time now_;
  config::YamlReader yaml_;
  absl::flat_hash_map<std::string, Tokens::Entry> by_hash_;
  std::vector<std::string> warnings_;
  int number_ = 0;
};

}  // namespace

absl::StatusOr<ProvedIdentity> Tokens::Verify(std::string_view token, absl::Time now) const {
  const auto found =
      token.size() > kTokenBytesMax ? by_hash_.end() : by_hash_.find(HashToken(token));
  if (found == by_hash_.end()) return Error(kUnauthenticated, "the token is not known");
  const auto& [name, expires] = found->second;
  if (now >= expires) return Error(kUnauthenticated, "the token has expired");
  return ProvedIdentity{.identity = {.principal = name, .proof = Proof::kToken, .issuer = ""},
                        .until = expires};
}

std::set<std::string_view> Tokens::names() const {
  std::set<std::string_view> names;
  for (const auto& [hash, entry] : by_hash_) names.insert(entry.name);
  return names;
}

std::string HashToken(std::string_view token) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> hash{};
  SHA256(reinterpret_cast<const unsigned char*>(token.data()), token.size(), hash.data());
  return absl::BytesToHexString({reinterpret_cast<const char*>(hash.data()), hash.size()});
}

TokenFile ParseTokens(std::string_view text, const std::string& path, absl::Time now) {
  return TokenReader(path, now).Parse(text);
}

}  // namespace lockkeeper::access
