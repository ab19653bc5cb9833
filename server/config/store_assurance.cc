// SPDX-License-Identifier: Apache-2.0
#include "config/store_assurance.h"

#include <optional>
#include <string>

#include "core/errors.h"
#include "text/number.h"
#include "text/problem.h"

namespace lockkeeper::config {
namespace {

constexpr std::string_view kReplicas = "replicas:";
constexpr int64_t kReplicasMax = 16;

}  // namespace

absl::StatusOr<StoreAssurance> ParseStoreAssurance(std::string_view text) {
  if (text == "primary") return StoreAssurance{};
  if (text == "fsynced") return StoreAssurance{.least = core::Assurance::kDisk};
  if (text.starts_with(kReplicas)) {
    const auto replicas = text::ParseNumber(text.substr(kReplicas.size()), kReplicasMax);
    if (replicas && *replicas >= 1) {
      return StoreAssurance{.least = core::Assurance::kReplicas,
                            .replicas = static_cast<int>(*replicas)};
    }
  }
  return core::Error(core::ErrorReason::kInvalidField,
                     "must be primary, replicas:N with N from 1 to " +
                         std::to_string(kReplicasMax) + ", or fsynced, is " + text::Quoted(text));
}

}  // namespace lockkeeper::config
