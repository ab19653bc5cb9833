// SPDX-License-Identifier: Apache-2.0
#include "access/access_files.h"

#include <filesystem>
#include <utility>

namespace lockkeeper::access {
namespace {

constexpr size_t kFileBytesMax = size_t{4} << 20;

// Policies that name other key sets each time that they are read are not read for ever.
constexpr int kReadsMax = 5;

// Where policy and tokens stand in the contents; key sets follow.
constexpr size_t kPolicy = 0;
constexpr size_t kTokens = 1;
constexpr size_t kFirstKeySet = 2;

std::vector<std::string> PathsOfKeySets(const AccessFiles& files, const PolicyFile& policy) {
  std::vector<std::string> paths;
  paths.reserve(policy.issuers.size());
  for (const JwtIssuer& issuer : policy.issuers) {
    // Without a name the policy has a problem of its own.
    paths.push_back(
        issuer.jwks_file.empty()
            ? ""
            : (std::filesystem::path(files.policy).parent_path() / issuer.jwks_file).string());
  }
  return paths;
}

os::FileSet SetOf(const AccessFiles& files, const std::vector<std::string>& key_sets) {
  os::FileSet set{.files = {{.name = "access.policy_file", .path = files.policy},
                            {.name = "access.tokens_file", .path = files.tokens}},
                  .bytes_max = kFileBytesMax};
  for (const std::string& path : key_sets) set.files.push_back({.name = "jwks_file", .path = path});
  return set;
}

void Append(std::vector<std::string>& to, const std::vector<std::string>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

}  // namespace

text::Problem AccessFilesReader::Read(os::Contents& contents) {
  std::vector<std::string> key_sets;
  for (int i = 0; i < kReadsMax; ++i) {
    if (text::Problem problem = os::ReadTogether(SetOf(files_, key_sets), contents)) return problem;
    const std::vector<std::string>& named = KeySetsOf(contents[kPolicy]);
    if (named == key_sets) return std::nullopt;
    key_sets = named;
  }
  return "access.policy_file: \"" + files_.policy + "\" changes faster than it can be read";
}

const std::vector<std::string>& AccessFilesReader::KeySetsOf(const std::string& policy) {
  if (policy != policy_) {
    policy_ = policy;
    key_sets_ = PathsOfKeySets(files_, ParsePolicy(policy, files_.policy));
  }
  return key_sets_;
}

LoadedRulebook MakeRulebook(const AccessFiles& files, const os::Contents& contents,
                            absl::Time now) {
  LoadedRulebook made;
  PolicyFile policy = ParsePolicy(contents[kPolicy], files.policy);
  TokenFile tokens = ParseTokens(contents[kTokens], files.tokens, now);
  Append(made.problems, policy.problems);
  Append(made.problems, tokens.problems);
  Append(made.warnings, policy.warnings);
  Append(made.warnings, tokens.warnings);
  std::vector<std::pair<JwtIssuer, KeySet>> issuers;
  const std::vector<std::string> paths = PathsOfKeySets(files, policy);
  for (size_t i = 0; i < paths.size(); ++i) {
    KeySet keys;
    if (paths[i].empty()) continue;
    if (const text::Problem problem = KeySet::Parse(contents[kFirstKeySet + i], keys)) {
      made.problems.push_back(paths[i] + ": " + *problem);
    }
    issuers.emplace_back(policy.issuers[i], std::move(keys));
  }
  if (!made.problems.empty()) return made;
  PolicySurroundings around = files.around;
  around.has_tokens = !files.tokens.empty();
  for (const std::string& warning : WarningsOf(policy, tokens.tokens, around)) {
    made.warnings.push_back(files.policy + ": " + warning);
  }
  made.rulebook = std::make_shared<const Rulebook>(std::move(policy), std::move(tokens.tokens),
                                                   JwtVerifier(std::move(issuers)));
  return made;
}

}  // namespace lockkeeper::access
