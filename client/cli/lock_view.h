// SPDX-License-Identifier: Apache-2.0
//
// How one lock is shown.
#pragma once

#include <string>

#include "cli/json.h"
#include "lockkeeper/admin/v1/admin_service.pb.h"

namespace lockkeeper::cli {

// Adds the members of `lock` to `json`.
void SetLock(const admin::v1::Lock& lock, JsonObject& json);

// Several lines, without the last end of line.
std::string LockLines(const admin::v1::Lock& lock);

// One line: name, what it does, token, owner.
std::string LockLine(const admin::v1::Lock& lock);

// The same for a lease that has ended.
void SetFormer(const admin::v1::FormerLease& former, JsonObject& json);
std::string FormerLine(const admin::v1::FormerLease& former);

}  // namespace lockkeeper::cli
