// SPDX-License-Identifier: Apache-2.0
//
// `./dev bench sizes`: what one of each costs the daemon and Redis in memory, and an operation in
// processor time.
#pragma once

namespace lockkeeper::bench {

struct SizesOptions {
  int rounds = 3;
  double seconds = 2;  // Of each load whose processor time is measured.
  double share = 1;    // Of the usual number of things.
};

// Prints a table. Errors: throws std::runtime_error.
void MeasureSizes(const SizesOptions& options);

}  // namespace lockkeeper::bench
