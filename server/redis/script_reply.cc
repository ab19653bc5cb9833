// SPDX-License-Identifier: Apache-2.0
#include "redis/script_reply.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "redis/script_outcome.h"
#include "redis/scripts.h"

namespace lockkeeper::redis {
namespace {

// Numbers with a space between; 0 for those that are missing.
template <size_t kCount>
std::array<int64_t, kCount> ReadNumbers(std::string_view text) {
  std::array<int64_t, kCount> numbers{};
  for (int64_t& number : numbers) {
    const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
    text.remove_prefix(static_cast<size_t>(read.ptr - text.data()));
    text.remove_prefix(std::min<size_t>(1, text.size()));
  }
  return numbers;
}

}  // namespace

LeaseTerms ReadTerms(const OperationReply& reply) {
  const Reply& told = reply.values[3];
  if (told.type == Reply::Type::kInteger) return {.ttl = core::Millis(told.integer)};
  const auto [ttl, lock_delay, max_hold_end, hold_end] = ReadNumbers<4>(told.text);
  return {core::Millis(ttl), core::Millis(lock_delay), {max_hold_end}, {hold_end}};
}

core::Waiting ReadWaiting(const OperationReply& reply) {
  const auto [free_in, line] = ReadNumbers<2>(reply.values[3].text);
  return {.number = reply.values[1].integer,
          .position = static_cast<int32_t>(reply.values[2].integer),
          .free_in = core::Micros(free_in),
          .line = line};
}

core::Lease ReadLease(const OperationReply& reply, const core::LeaseId& lease_id,
                      core::Assurance assurance) {
  core::Lease lease;
  lease.name = reply.lock_name;
  lease.lease_id = lease_id;
  lease.token = core::FencingToken{reply.values[1].integer};
  lease.remaining_ttl = core::Micros(reply.values[2].integer);
  lease.ttl = ReadTerms(reply).ttl;
  lease.lease_end = core::NodeTime{reply.now.micros + lease.remaining_ttl.count()};
  lease.assurance = assurance;
  return lease;
}

core::Lease ReadOffered(const OperationReply& reply, const core::LeaseId& lease_id,
                        core::Assurance assurance) {
  core::Lease offer = ReadLease(reply, lease_id, assurance);
  const auto [ttl, number, line] = ReadNumbers<3>(reply.values[3].text);
  offer.ttl = core::Millis(ttl);
  offer.place = {.number = number, .line = line};
  offer.offered = true;
  return offer;
}

core::Contention ReadContention(const OperationReply& reply) {
  core::Contention contention;
  contention.remaining_ttl = core::Micros(reply.values[1].integer);
  contention.waiters = static_cast<int32_t>(reply.values[2].integer);
  contention.holder_owner = reply.values[3].text;
  return contention;
}

namespace {

core::Contention ReadSeen(const OperationReply& reply) {
  core::Contention seen;
  seen.position = static_cast<int32_t>(reply.values[2].integer);
  const std::string_view text = reply.values[3].text;
  int64_t free_in = 0;
  const auto waiters = std::from_chars(text.data(), text.data() + text.size(), seen.waiters);
  const char* const end = text.data() + text.size();
  if (waiters.ptr == end) return seen;
  const auto time = std::from_chars(waiters.ptr + 1, end, free_in);
  seen.remaining_ttl = core::Micros(free_in);
  if (time.ptr != end) seen.holder_owner.assign(time.ptr + 1, end);
  return seen;
}

}  // namespace

std::optional<core::WithdrawResult> ReadWithdrawResult(const OperationReply& reply) {
  using enum WithdrawScriptOutcome;
  switch (WithdrawScriptOutcome{OutcomeOf(reply)}) {
    case kWithdrawn: {
      core::WithdrawResult result = core::WithdrawResult::kWithdrawn;
      result.held = core::Micros(reply.values[3].integer);
      return result;
    }
    case kNotGranted: {
      core::WithdrawResult result = core::WithdrawResult::kNotGranted;
      result.seen = ReadSeen(reply);
      return result;
    }
    case kKept:
      return core::WithdrawResult::kKept;
    default:
      return std::nullopt;
  }
}

}  // namespace lockkeeper::redis
