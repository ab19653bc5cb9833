// SPDX-License-Identifier: Apache-2.0
//
// The lock record in C++: writes the part that an acquire brings along, and reads whole records
// for administrators. The columns are described in scripts/record.lua; the contract tests hold the
// two against each other.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "core/requests.h"

namespace lockkeeper::redis {

// The lease id and its digest, 48 bits as 8 characters, which stands for it in the void list. Two
// ids have the same digest by chance once in 2^48, or if somebody searches for such ids.
std::string EncodeLeaseId(const core::LeaseId& id);

// Principal, owner and labels, a line each.
std::string EncodeText(const core::AcquireRequest& request);

// The columns of the record from the lease id on, for a record with `text_bytes` of text; behind a
// space hold_at_least, if the request has one: the script puts it behind the text.
std::string EncodeRequest(const core::AcquireRequest& request, size_t text_bytes);

// `value` with leading zeros, `width` digits. Requires: 0 <= value < 10^width.
std::string Digits(int64_t value, size_t width);

// What scripts/inspect.lua says of the lease in a record: the store may have forgotten leases since
// it was granted, so its holder has to prove it.
enum class Doubt { kNone = 0, kMayBeProved = 1, kNotProvedInTime = 2 };

// What `record` says of the lock `name` at `now`, with its former holders, or nothing for a record
// that only keeps void lease ids. Errors: STORE_CORRUPT.
absl::StatusOr<std::optional<core::LockInfo>> ReadRecord(std::string_view name,
                                                         std::string_view record,
                                                         core::NodeTime now, Doubt doubt);

}  // namespace lockkeeper::redis
