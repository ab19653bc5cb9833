// SPDX-License-Identifier: Apache-2.0
//
// What this build is: printed by `--version`, told by GetServerInfo and in the first line of the
// log. The values are written by cmake/WriteBuildInfo.cmake into a library of their own, so that a
// new commit recompiles one file.

#pragma once

#include <string_view>

namespace lockkeeper {

struct BuildInfo {
  // "0.1.0" at a release; between releases "0.1.0-12-g1a2b3c4d", or "0.1.0-dev+1a2b3c4d" before the
  // first one. Ends in "-dirty" when built from uncommitted changes.
  std::string_view version;
  std::string_view git_commit;  // full hash; empty when built outside a git checkout
  std::string_view compiler;    // such as "GNU 12.2.0"
  std::string_view sanitizer;   // "address", "thread" or empty
};

// Thread-safety: thread-safe. Lifetime: the views are valid for the whole process.
const BuildInfo& GetBuildInfo();

}  // namespace lockkeeper
