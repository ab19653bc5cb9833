// SPDX-License-Identifier: Apache-2.0
//
// The commands that look at locks and break them: get, history, is-held, force-release,
// end-quarantine, health.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "cli/admin_connection.h"
#include "cli/arguments.h"
#include "cli/report.h"
#include "lockkeeper/admin/v1/admin_service.pb.h"

namespace lockkeeper::cli {

Report Get(AdminConnection& connection, const GetCommand& command);
Report History(AdminConnection& connection, const HistoryCommand& command);
Report IsHeld(AdminConnection& connection, const IsHeldCommand& command);
Report ForceRelease(AdminConnection& connection, const ForceReleaseCommand& command);
Report EndQuarantine(AdminConnection& connection, const EndQuarantineCommand& command);
Report Health(AdminConnection& connection);

// Asks the service for the record of the lock.
absl::StatusOr<admin::v1::GetLockResponse> LookUp(AdminConnection& connection,
                                                  const std::string& name);

}  // namespace lockkeeper::cli
