// SPDX-License-Identifier: Apache-2.0
//
// Commands and replies as text, for comparing them and for the messages of failing tests.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "redis/node/reply.h"

namespace lockkeeper::support {

// For example `[1, "text", nil, !ERR message]`, bytes that cannot be printed as \xNN. Two replies
// are the same exactly if their texts are.
std::string Describe(const redis::Reply& reply);

// For example `SET "key" "a value"`.
std::string Describe(std::span<const std::string_view> words);

}  // namespace lockkeeper::support
