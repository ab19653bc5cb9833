// SPDX-License-Identifier: Apache-2.0
//
// Notices connections that open and reset calls faster than gRPC 1.51 can clean them up. Until then
// gRPC keeps 8 to 20 KB for each, and none of its own limits counts a reset stream.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/types.h"

namespace lockkeeper::rpc {

// Thread-safety: not thread-safe.
class FloodWatch {
 public:
  // The clients whose connections must be closed, with their addresses as gRPC writes them.
  // `served` is the number of calls in flight in the services. Nothing is closed unless gRPC has
  // thousands of streams more than that. Then the connections with the most new streams since the
  // last look are closed, as many as have opened half of all new streams.
  std::vector<std::string> Look(int64_t served);

  // When to look again: sooner once there may be a flood, which takes some MB in each millisecond.
  core::Millis interval() const { return core::Millis(looks_left_ > 0 ? 5 : 20); }

 private:
  int64_t failed_ = 0;                                // Calls, at the last look.
  int64_t unserved_ = 0;                              // The same.
  int looks_left_ = 0;                                // In which streams are counted.
  std::unordered_map<std::string, int64_t> streams_;  // By client, at the last look.
};

}  // namespace lockkeeper::rpc
