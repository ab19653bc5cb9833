// SPDX-License-Identifier: Apache-2.0
//
// The file of --tokens. Or, with a byte 0 between each: a name, a token and an expiry, of which the
// target writes the file. The token is then known for as long as it counts, and no problem shows a
// token that was put in the place of its hash.
#include "access/token_file.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "fuzz/target.h"
#include "text/utf8.h"

namespace lockkeeper {
namespace {

using fuzz::Require;

const absl::Time kNow = absl::FromUnixSeconds(1'795'444'131);

access::TokenFile Parse(std::string_view text) {
  access::TokenFile file = access::ParseTokens(text, "tokens.yaml", kNow);
  for (const auto* texts : {&file.problems, &file.warnings}) {
    for (const std::string& line : *texts) {
      Require(line.starts_with("tokens.yaml:"), "a problem says where it is");
      fuzz::RequireOneLine(line);
    }
  }
  return file;
}

std::string FileOf(std::string_view name, const std::string& sha256, std::string_view expires) {
  YAML::Emitter out;
  out.SetStringFormat(YAML::DoubleQuoted);
  out << YAML::BeginMap << "tokens" << YAML::BeginSeq << YAML::BeginMap;
  out << "name" << std::string(name) << "sha256" << sha256;
  if (!expires.empty()) out << "expires" << std::string(expires);
  out << YAML::EndMap << YAML::EndSeq << YAML::EndMap;
  return out.c_str();
}

void CheckFile(std::string_view text) {
  const access::TokenFile file = Parse(text);
  if (!file.problems.empty()) return;
  size_t entries = 0;
  const YAML::Node document = YAML::Load(std::string(text));
  if (document.IsMap()) {
    for (const YAML::Node& entry : document["tokens"]) {
      ++entries;
      Require(access::IsPrincipal(entry["name"].Scalar()), "a token gives the name of a principal");
    }
  }
  Require(file.tokens.size() == entries, "each entry of an accepted file is a token");
}

void CheckToken(std::string_view name, std::string_view token, std::string_view expires) {
  const access::TokenFile file = Parse(FileOf(name, access::HashToken(token), expires));
  std::string upper = access::HashToken(token);
  absl::AsciiStrToUpper(&upper);
  Require(Parse(FileOf(name, upper, expires)).problems == file.problems,
          "a hash may be in upper case");

  const auto is_hash = [](std::string_view text) {
    return text.size() == 64 && std::all_of(text.begin(), text.end(), [](char c) {
             return absl::ascii_isxdigit(static_cast<unsigned char>(c));
           });
  };
  if (!is_hash(token)) {
    const std::string other(token.size(), '#');
    Require(Parse(FileOf(name, std::string(token), expires)).problems ==
                Parse(FileOf(name, other, expires)).problems,
            "no problem shows what stands in the place of the hash");
  }
  if (!file.problems.empty() || !text::IsUtf8(name)) return;  // The target could not write it.

  const auto now = file.tokens.Verify(token, kNow);
  if (token.size() > access::kTokenBytesMax) return Require(!now.ok(), "a token has a length");
  const auto first = file.tokens.Verify(token, absl::InfinitePast());
  if (!first.ok()) return Require(!now.ok(), "what counts later counts earlier");
  Require(first->identity.principal == name, "a token gives the name of its entry");
  Require(access::IsPrincipal(first->identity.principal), "a token gives a principal");
  Require(first->identity.proof == access::Proof::kToken, "a token is a token");
  Require(now.ok() == (kNow < first->until), "a token counts until it expires");
  Require(now.ok() == file.warnings.empty(), "the file's owner is told of what has expired");
  Require(!file.tokens.Verify(token, first->until).ok(), "an expired token does not count");
  Require(!file.tokens.Verify(std::string(token) + "x", kNow).ok(), "another token is unknown");
  Require(!file.tokens.Verify(access::HashToken(token), kNow).ok(), "a hash is no token");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view rest = fuzz::TextOf(data, size);
  if (rest.find('\0') == std::string_view::npos) {
    CheckFile(rest);
    return 0;
  }
  const std::string_view name = fuzz::TakeField(rest);
  const std::string_view token = fuzz::TakeField(rest);
  CheckToken(name, token, rest);
  return 0;
}

}  // namespace lockkeeper
