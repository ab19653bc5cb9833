// SPDX-License-Identifier: Apache-2.0
//
// What of a policy has no effect, as only the tokens, the listeners and the limits show.
#pragma once

#include <string>
#include <vector>

#include "access/policy_file.h"
#include "access/token_file.h"
#include "core/limits.h"
#include "core/types.h"

namespace lockkeeper::access {

// What the configuration says of the same subjects.
struct PolicySurroundings {
  bool has_tokens = true;      // A file of tokens is given.
  bool has_mutual_tls = true;  // Some listener asks clients for certificates.
  // Limits of all principals; those of a quota beyond them have no effect.
  core::Millis longest_ttl = core::limits::kTtlCeiling;
  core::Millis max_wait = core::limits::kWaitTimeoutMax;
  int64_t waiters_max = core::limits::kWaitersPerPrincipalMax;
};

// Proofs that nobody can give, bindings that can match nobody, quotas beyond the limits of all.
// Each begins with a key of the policy, without its file. Requires: `policy` has no problems.
std::vector<std::string> WarningsOf(const PolicyFile& policy, const Tokens& tokens,
                                    const PolicySurroundings& around);

}  // namespace lockkeeper::access
