// SPDX-License-Identifier: Apache-2.0
//
// The values of the metadata key `authorization`, with a byte 0 between them. One token is known.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "access/rulebook.h"
#include "fuzz/target.h"

namespace lockkeeper {
namespace {

using fuzz::Require;

constexpr std::string_view kToken = "lk_known";

// Whether `value` is the token's, read in another way than the rulebook does.
bool ShowsToken(std::string_view value) {
  if (!value.ends_with(kToken)) return false;
  std::string scheme(value.substr(0, value.size() - kToken.size()));
  absl::AsciiStrToLower(&scheme);
  return scheme.starts_with("bearer ") &&
         scheme.find_first_not_of(' ', std::string("bearer").size()) == std::string::npos;
}

access::Rulebook MakeRulebook() {
  absl::flat_hash_map<std::string, access::Tokens::Entry> by_hash;
  by_hash[access::HashToken(kToken)].name = "ci";
  return access::Rulebook({}, access::Tokens(std::move(by_hash)), access::JwtVerifier());
}

void Check(const access::Rulebook& rulebook, const std::vector<std::string_view>& values) {
  const bool is_known = values.size() == 1 && ShowsToken(values.front());
  const auto standing = rulebook.Identify({.authorization = values}, absl::UnixEpoch());
  if (values.empty()) {
    Require(standing.ok() && (*standing)->identity == access::Identity(), "nothing is anonymous");
    return;
  }
  Require(standing.ok() == is_known, "a token counts, once and with its scheme");
  if (standing.ok()) {
    Require((*standing)->identity.principal == "ci", "a token gives its name");
    return;
  }
  const std::string why(standing.status().message());
  fuzz::RequireOneLine(why);
  for (const std::string_view value : values) {
    // No error has a word that is so long.
    const bool is_word = value.size() >= 16 && value.find(' ') == std::string_view::npos;
    Require(!is_word || why.find(value) == std::string::npos, "an error does not show a token");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto* const kRulebook = new access::Rulebook(MakeRulebook());
  std::string_view rest = fuzz::TextOf(data, size);
  std::vector<std::string_view> values;
  while (!rest.empty()) values.push_back(fuzz::TakeField(rest));
  Check(*kRulebook, values);
  Check(*kRulebook, values);  // As it remembers it.
  return 0;
}

}  // namespace lockkeeper
