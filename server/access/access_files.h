// SPDX-License-Identifier: Apache-2.0
//
// Makes a rulebook of the files of --policy and --tokens, and of the key sets that the policy
// names.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "access/policy_warnings.h"
#include "access/rulebook.h"
#include "os/file_watch.h"
#include "text/problem.h"

namespace lockkeeper::access {

struct AccessFiles {
  std::string policy;  // Empty: none. The same for the next.
  std::string tokens;
  PolicySurroundings around{};  // For warnings; has_tokens is set by `tokens`.
};

// Reads the files, again and again: a policy that has not changed is not parsed again.
//
// Thread-safety: thread-compatible.
class AccessFilesReader {
 public:
  explicit AccessFilesReader(AccessFiles files) : files_(std::move(files)) {}

  // Reads all files of one version: policy, tokens, and the key sets in the order in which the
  // policy names them. A key set's relative path begins in the folder of the policy.
  text::Problem Read(os::Contents& contents);

 private:
  const std::vector<std::string>& KeySetsOf(const std::string& policy);

  AccessFiles files_;
  std::string policy_;  // The last that was parsed, and the key sets that it names.
  std::vector<std::string> key_sets_;
};

struct LoadedRulebook {
  std::shared_ptr<const Rulebook> rulebook;  // Null if there are problems.
  std::vector<std::string> problems;         // Each with the file, and the line if there is one.
  std::vector<std::string> warnings;
};

// Without any file the rulebook allows everything. `contents` are those that AccessFilesReader
// reads.
LoadedRulebook MakeRulebook(const AccessFiles& files, const os::Contents& contents, absl::Time now);

}  // namespace lockkeeper::access
