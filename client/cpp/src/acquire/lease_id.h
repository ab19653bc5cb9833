// SPDX-License-Identifier: Apache-2.0
//
// Lease ids: the credential of a lease, so they come from the kernel's random source.
#pragma once

#include <string>

namespace lockkeeper::client {

// 128 random bits as 32 lower-case hex digits. Thread-safety: thread-safe.
std::string NewLeaseId();

}  // namespace lockkeeper::client
