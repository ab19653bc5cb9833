// SPDX-License-Identifier: Apache-2.0
//
// Tells the folder that the server's data was written to from a copy of it, and whether somebody
// changed it while no server ran: the marker of the store is compared with both. Nothing else would
// notice data from a backup, since the only daemon that knew newer ones was down: a lock that was
// granted after the backup would be granted again.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "core/wall_time.h"

namespace lockkeeper::embedded {

struct DataHome {
  // 16 hex digits. Stays the same over restarts, reboots and being moved within its file system; a
  // copy has another one.
  std::string id;
  // When the folder or a file in it was changed last, also in its owner, its rights or its name, by
  // this machine's clock.
  core::WallTime changed;
};

// Of the folder of append-only files in `data_directory`, which is made (mode 0700) if it is not
// there. To be called while no server runs on it.
// Errors: STORE_UNAVAILABLE that names the folder.
absl::StatusOr<DataHome> LookAtHome(const std::string& data_directory);

}  // namespace lockkeeper::embedded
