// SPDX-License-Identifier: Apache-2.0
//
// The processor time of a thread.
#pragma once

#include <chrono>

namespace lockkeeper::os {

// What this thread has used of a processor since it began. Thread-safety: thread-safe.
std::chrono::nanoseconds ThreadTime();

}  // namespace lockkeeper::os
