// SPDX-License-Identifier: Apache-2.0
//
// Lets a store of a test answer acquires that may wait and those that do not by one function.
#pragma once

#include <utility>
#include <variant>

#include "core/waiting_line.h"

namespace lockkeeper::support {

// For an acquire that does not wait, whose answer cannot be a place in line.
inline core::Done<core::AcquireOutcome> WithoutPlace(core::Done<core::AcquireAnswer> done) {
  return [done = std::move(done)](absl::StatusOr<core::AcquireOutcome> outcome) mutable {
    if (!outcome.ok()) return std::move(done)(outcome.status());
    if (auto* lease = std::get_if<core::Lease>(&*outcome)) {
      return std::move(done)(core::AcquireAnswer(std::move(*lease)));
    }
    std::move(done)(core::AcquireAnswer(std::get<core::Contention>(*std::move(outcome))));
  };
}

}  // namespace lockkeeper::support
