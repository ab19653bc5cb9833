// SPDX-License-Identifier: Apache-2.0
//
// Notices connections that open calls and reset them faster than gRPC 1.51 works them off. gRPC
// keeps 8 to 20 KB for each until then, and none of its own limits counts a stream that was reset.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/types.h"

namespace lockkeeper::rpc {

// How often it has to look.
inline constexpr core::Millis kFloodLookInterval{20};

// Thread-safety: not thread-safe.
class FloodWatch {
 public:
  // The clients whose connections must be closed, as gRPC writes their addresses. `served` is the
  // number of calls that a service has and has not finished yet. Nobody is closed unless gRPC has
  // thousands of streams beyond these. Then it is those connections that have opened the most
  // streams since the last look, until they are half of all new ones.
  std::vector<std::string> Look(int64_t served);

 private:
  int64_t failed_ = 0;                                // Calls, at the last look.
  int64_t unserved_ = 0;                              // The same.
  int looks_left_ = 0;                                // In which streams are counted.
  std::unordered_map<std::string, int64_t> streams_;  // By client, at the last look.
};

}  // namespace lockkeeper::rpc
