// SPDX-License-Identifier: Apache-2.0
//
// What a daemon says of itself: the command info, and what others take from it.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "cli/admin_connection.h"
#include "cli/json.h"
#include "cli/report.h"
#include "lockkeeper/admin/v1/admin_service.pb.h"

namespace lockkeeper::cli {

// Asks the daemon. Errors: those of AdminService.GetServerInfo.
absl::StatusOr<admin::v1::GetServerInfoResponse> AskServerInfo(AdminConnection& connection);

Report Info(AdminConnection& connection);

// Why the daemon does not serve, for people. A daemon of a version before `problem` tells it only
// of its store.
std::string ProblemOf(const admin::v1::GetServerInfoResponse& info);

// "redis 127.0.0.1:6379 (Redis 7.0.15)", and what is wrong with it.
std::string StoreText(const admin::v1::StoreInfo& store);

// Adds the members of `info` to `json`.
void SetServerInfo(const admin::v1::GetServerInfoResponse& info, JsonObject& json);

}  // namespace lockkeeper::cli
