// SPDX-License-Identifier: Apache-2.0
//
// The commands that show many locks by a listing: list and who.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/admin_connection.h"
#include "cli/arguments.h"
#include "cli/json.h"
#include "cli/report.h"
#include "lockkeeper/admin/v1/admin_service.pb.h"

namespace lockkeeper::cli {

struct Listing {
  std::vector<admin::v1::Lock> locks;
  int64_t unreadable = 0;  // Records that could not be parsed.
  bool has_more = false;   // Locks beyond the limit.
  // Set while a quarantine runs: locks may be missing that are held.
  std::optional<google::protobuf::Duration> quarantine_left;

  // What the listing lacks, in lines that begin with a line break. Empty if it lacks nothing.
  std::string Reservations() const;
  void SetReservations(JsonObject& json) const;
};

// Lists the locks that `request` asks for, page by page, at most `limit` of them.
absl::StatusOr<Listing> ListLocks(AdminConnection& connection, admin::v1::ListLocksRequest request,
                                  std::optional<int64_t> limit);

Report List(AdminConnection& connection, const ListCommand& command);
Report Who(AdminConnection& connection, const WhoCommand& command);

// "not known for another 4.2s: ...", for a lock that may be held although no lease is known.
std::string NotKnownFor(const google::protobuf::Duration& quarantine_left);

}  // namespace lockkeeper::cli
