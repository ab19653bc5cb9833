// SPDX-License-Identifier: Apache-2.0
#include "redis/guard/last_lease.h"

#include <chrono>
#include <cstddef>

#include "redis/format/lock_record.h"
#include "redis/format/record_columns.h"

namespace lockkeeper::redis {
namespace {

// What store.record_retention is by default. With less, the record of a lease that was released may
// be gone after a long outage, which then is taken for a loss.
constexpr core::Micros kRecordsKept = std::chrono::minutes(1);

// The columns that are read.
constexpr size_t kColumns = column::kEpoch.last;

}  // namespace

void LastLease::Confirmed(const core::Lease& lease, int64_t epoch) {
  const core::NodeTime confirmed{lease.lease_end.micros - lease.remaining_ttl.count()};
  if (confirmed < confirmed_) return;
  name_ = lease.name;
  token_ = lease.token;
  epoch_ = epoch;
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
  const bool is_long = record.starts_with("1 ") || record.starts_with("3 ");
  if (record.size() < (is_short ? column::kToken.last : kColumns) || !(is_short || is_long)) {
    return !record.empty();
  }
  const std::string_view token = column::kToken.Of(record);
  const std::string wanted = Digits(token_.value, column::kToken.width());
  if (token != wanted) return token > wanted;
  const std::string_view state = column::kState.Of(record);
  if (state == "O") return false;  // It had been claimed.
  if (state != "H") return true;
  // Before it was proved in this epoch, its record had an end by a clock that was set since.
  if (column::kEpoch.Of(record) != Digits(epoch_, column::kEpoch.width())) return false;
  return column::kLeaseEnd.Of(record) >= Digits(end_.micros, column::kLeaseEnd.width());
}

}  // namespace lockkeeper::redis
