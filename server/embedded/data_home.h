// SPDX-License-Identifier: Apache-2.0
//
// Identifies the folder with the server's data, so that a copy differs, and tells when it was last
// changed. The marker of the store is compared with both. Without this, data from a backup would go
// unnoticed, because the only daemon that knew newer data was down; then a lock that was granted
// after the backup would be granted again.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "core/wall_time.h"

namespace lockkeeper::embedded {

struct DataHome {
  // 16 hex digits. Does not change by a restart, a reboot or a move within the file system. A copy
  // has another id.
  std::string id;
  // When the folder or a file in it was last changed (content, owner, mode or name), by this
  // machine's clock.
  core::WallTime changed;
};

// Looks at the folder of append-only files in `data_directory`, and creates it (mode 0700) if
// necessary. Requires: no server runs on it. Errors: STORE_UNAVAILABLE that names the folder.
absl::StatusOr<DataHome> LookAtHome(const std::string& data_directory);

}  // namespace lockkeeper::embedded
