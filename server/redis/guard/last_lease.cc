// SPDX-License-Identifier: Apache-2.0
#include "redis/guard/last_lease.h"

#include <chrono>
#include <cstddef>

#include "redis/format/lock_record.h"

namespace lockkeeper::redis {
namespace {

// What store.record_retention is by default. With less, the record of a lease that was released may
// be gone after a long outage, which then is taken for a loss.
constexpr core::Micros kRecordsKept = std::chrono::minutes(1);

// As scripts/record.lua: the columns of a record up to the end of its lease.
constexpr size_t kStateColumn = 2;
constexpr size_t kTokenColumn = 15;
constexpr size_t kLeaseEndColumn = 32;
constexpr size_t kNumberDigits = 16;
constexpr size_t kTokenEnd = kTokenColumn + kNumberDigits;
constexpr size_t kColumns = kLeaseEndColumn + kNumberDigits;

}  // namespace

void LastLease::Confirmed(const core::Lease& lease) {
  const core::NodeTime confirmed{lease.lease_end.micros - lease.remaining_ttl.count()};
  if (confirmed < confirmed_) return;
  name_ = lease.name;
  token_ = lease.token;
  end_ = lease.lease_end;
  confirmed_ = confirmed;
}

bool LastLease::IsWanted(core::NodeTime beat, core::NodeTime now) const {
  return token_.value > 0 && confirmed_ >= beat && now.micros < end_.micros + kRecordsKept.count();
}

Command LastLease::Ask(const KeyLayout& keys) const {
  Command command(4);
  command.Word("GETRANGE").Word(keys.RecordKey(name_)).Number(0).Number(kColumns - 1);
  return command;
}

bool LastLease::IsIn(std::string_view record) const {
  const bool is_short = record.starts_with("2 ");
  if (record.size() < (is_short ? kTokenEnd : kColumns) ||
      !(is_short || record.starts_with("1 "))) {
    return !record.empty();
  }
  const std::string_view token = record.substr(kTokenColumn, kNumberDigits);
  const std::string wanted = Digits(token_.value, kNumberDigits);
  if (token != wanted) return token > wanted;
  if (record[kStateColumn] == 'O') return false;  // It had been claimed.
  return record[kStateColumn] != 'H' ||
         record.substr(kLeaseEndColumn, kNumberDigits) >= Digits(end_.micros, kNumberDigits);
}

}  // namespace lockkeeper::redis
