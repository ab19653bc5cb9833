// SPDX-License-Identifier: Apache-2.0
//
// The command backup-check: what a backup of the store is worth now, and whether a store that was
// restored is at least as new as it was at a moment that a file tells of.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/admin_connection.h"
#include "cli/arguments.h"
#include "cli/findings.h"
#include "cli/lock_listing.h"
#include "cli/report.h"
#include "lockkeeper/admin/v1/admin_service.pb.h"

namespace lockkeeper::cli {

// What a store had at one moment.
struct StoreNote {
  int64_t epoch = 0;
  absl::Time time;  // By the store's clock.
  std::string key_prefix;
  std::map<std::string, int64_t> tokens;  // Of each lock that had a record, by its name.
};

// Of what a daemon tells. Requires: the store can be reached, so that its time is known.
StoreNote NoteOf(const admin::v1::GetServerInfoResponse& info, const Listing& listing);

// The text of the file, and what it says. Errors: INVALID_ARGUMENT, for people.
std::string ToText(const StoreNote& note);
absl::StatusOr<StoreNote> ParseNote(const std::string& text);

// What the store of `info` is like now, and beside `since`, if there is one.
std::vector<Finding> JudgeBackup(const admin::v1::GetServerInfoResponse& info,
                                 const Listing& listing, const std::optional<StoreNote>& since,
                                 const std::string& server);

// Exit codes as of doctor, and those of an error if the daemon does not tell.
Report BackupCheck(AdminConnection& connection, const BackupCheckCommand& command);

}  // namespace lockkeeper::cli
