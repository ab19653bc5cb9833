// SPDX-License-Identifier: Apache-2.0
//
// Why a server cannot be used. While we are connecting, nothing has failed yet. An unreachable
// server may be back the next moment; a refused one answers, but somebody has to change a setting
// first.
#pragma once

#include <string>

namespace lockkeeper::redis {

struct StoreProblem {
  enum class Kind { kConnecting, kUnreachable, kRefused };

  Kind kind = Kind::kUnreachable;
  std::string text;  // For people; names the server and, if refused, the setting to change.

  bool operator==(const StoreProblem&) const = default;
};

}  // namespace lockkeeper::redis
