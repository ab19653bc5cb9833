// SPDX-License-Identifier: Apache-2.0
//
// Ids that nobody can guess, from the kernel's generator: lease ids are credentials.
#pragma once

#include <cstdint>

#include "core/types.h"

namespace lockkeeper::rpc {

// Thread-safety: thread-safe. Ends the process if the kernel has no randomness to give.
uint64_t RandomBits();
core::LeaseId RandomLeaseId();

}  // namespace lockkeeper::rpc
