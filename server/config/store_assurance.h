// SPDX-License-Identifier: Apache-2.0
//
// What the store has to confirm of every lease: the setting store.assurance.
#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "core/types.h"

namespace lockkeeper::config {

struct StoreAssurance {
  core::Assurance least = core::Assurance::kNone;  // kNone, kDisk or kReplicas.
  int replicas = 1;  // That acknowledge a write for kReplicas, 1 to 16.

  bool operator==(const StoreAssurance&) const = default;
};

// Reads `primary`, `replicas:N` or `fsynced`. Errors: INVALID_FIELD that says what is wrong with
// `text`.
absl::StatusOr<StoreAssurance> ParseStoreAssurance(std::string_view text);

}  // namespace lockkeeper::config
