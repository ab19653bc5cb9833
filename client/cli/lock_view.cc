// SPDX-License-Identifier: Apache-2.0
#include "cli/lock_view.h"

#include <google/protobuf/util/time_util.h>

#include <map>

#include "absl/strings/str_cat.h"
#include "cli/lines.h"
#include "text/duration.h"

namespace lockkeeper::cli {
namespace {

using admin::v1::Lock;
using google::protobuf::util::TimeUtil;

std::string StateOf(const Lock& lock) {
  return EnumWord(admin::v1::LockState_Name(lock.state()), "LOCK_STATE_");
}

std::string WordOf(admin::v1::LeaseEnd end) {
  return EnumWord(admin::v1::LeaseEnd_Name(end), "LEASE_END_");
}

std::string LastEndOf(const Lock& lock) { return WordOf(lock.last_end()); }

// Sorted by key, because the map of a proto has no order.
std::map<std::string, std::string> LabelsOf(const Lock& lock) {
  return {lock.labels().begin(), lock.labels().end()};
}

bool HasEnded(const Lock& lock) { return lock.state() == admin::v1::LOCK_STATE_ENDED; }

// The state of the lock, in words.
std::string Doing(const Lock& lock) {
  const auto closed = Millis(lock.closed_for());
  switch (lock.state()) {
    case admin::v1::LOCK_STATE_HELD:
      return "held for another " + text::InWords(Millis(lock.remaining_ttl()));
    case admin::v1::LOCK_STATE_OFFERED:
      return "offered to the next waiter";
    case admin::v1::LOCK_STATE_UNPROVEN:
      return "not certainly held: its holder has yet to prove the lease";
    default:
      return closed.count() > 0 ? "closed for another " + text::InWords(closed) : "free";
  }
}

// A term that the holder asked for. Empty if the lease has ended or there is no such term.
std::string Term(const char* title, const Lock& lock, const google::protobuf::Duration& term) {
  const auto length = Millis(term);
  return HasEnded(lock) || length.count() == 0 ? "" : Line(title, text::InWords(length));
}

}  // namespace

void SetLock(const Lock& lock, JsonObject& json) {
  json.Set("name", lock.name())
      .Set("state", StateOf(lock))
      .Set("fencing_token", lock.fencing_token())
      .Set("holder_owner", lock.owner())
      .Set("remaining_ttl_ms", Millis(lock.remaining_ttl()).count())
      .Set("closed_for_ms", Millis(lock.closed_for()).count())
      .Set("ttl_ms", Millis(lock.ttl()).count())
      .Set("lock_delay_ms", Millis(lock.lock_delay()).count())
      .Set("max_hold_ms", Millis(lock.max_hold()).count())
      .Set("hold_at_least_ms", Millis(lock.hold_at_least()).count())
      .Set("waiters", lock.waiters());
  if (!lock.principal().empty()) json.Set("principal", lock.principal());
  if (!LastEndOf(lock).empty()) json.Set("last_end", LastEndOf(lock));
  if (lock.has_acquire_time()) json.Set("acquire_time", TimeUtil::ToString(lock.acquire_time()));
  if (lock.has_expire_time()) json.Set("expire_time", TimeUtil::ToString(lock.expire_time()));
  JsonObject labels;
  for (const auto& [key, value] : LabelsOf(lock)) labels.Set(key, value);
  json.Set("labels", labels);
}

std::string LockLines(const Lock& lock) {
  std::string labels;
  for (const auto& [key, value] : LabelsOf(lock)) {
    absl::StrAppend(&labels, labels.empty() ? "" : " ", key, "=", value);
  }
  return "`" + lock.name() + "` is " + Doing(lock) +
         Line("fencing token", std::to_string(lock.fencing_token())) +
         Line(HasEnded(lock) ? "last owner" : "owner", lock.owner()) +
         Line("principal", lock.principal()) + Line("labels", labels) +
         Term("ttl", lock, lock.ttl()) + Term("lock delay", lock, lock.lock_delay()) +
         Term("max hold", lock, lock.max_hold()) +
         Term("hold at least", lock, lock.hold_at_least()) +
         Line("waiters", std::to_string(lock.waiters())) +
         Line("acquired",
              lock.has_acquire_time() ? TimeUtil::ToString(lock.acquire_time()) : std::string()) +
         Line("last lease", LastEndOf(lock));
}

std::string LockLine(const Lock& lock) {
  std::string line =
      lock.name() + "  " + Doing(lock) + "  token " + std::to_string(lock.fencing_token());
  if (!lock.owner().empty()) line += (HasEnded(lock) ? "  last owner " : "  owner ") + lock.owner();
  if (lock.waiters() > 0) line += "  waiters " + std::to_string(lock.waiters());
  return line;
}

void SetFormer(const admin::v1::FormerLease& former, JsonObject& json) {
  json.Set("end", WordOf(former.end()))
      .Set("end_time", TimeUtil::ToString(former.end_time()))
      .Set("fencing_token", former.fencing_token())
      .Set("owner", former.owner());
}

std::string FormerLine(const admin::v1::FormerLease& former) {
  std::string line = absl::StrCat(TimeUtil::ToString(former.end_time()), "  ", WordOf(former.end()),
                                  "  token ", former.fencing_token());
  if (!former.owner().empty()) absl::StrAppend(&line, "  owner ", former.owner());
  return line;
}

}  // namespace lockkeeper::cli
