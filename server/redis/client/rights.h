// SPDX-License-Identifier: Apache-2.0
//
// Whether the user of a connection may do what the scripts do. It is asked beforehand: a right that
// is missing in the middle of an operation leaves it half done.
#pragma once

#include <string>
#include <vector>

#include "redis/node/command.h"
#include "redis/node/reply.h"

namespace lockkeeper::redis {

// Asks by scripts/rights.lua, which must have been loaded, about keys and channels that begin with
// `key_prefix`.
Command RightsQuestion(const std::string& key_prefix);

// The rules that ACL SETUSER would have to add, such as "+setrange" and "~lk:*". None if the user
// may do all, and if the server did not tell.
std::vector<std::string> MissingRights(const Reply& answer, const std::string& key_prefix);

}  // namespace lockkeeper::redis
