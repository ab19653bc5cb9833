// SPDX-License-Identifier: Apache-2.0
#include "redis/redis_lock_store.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "core/errors.h"
#include "core/shard.h"
#include "redis/lock_record.h"
#include "redis/script_outcome.h"
#include "redis/scripts.h"

namespace lockkeeper::redis {
namespace {

using core::ErrorReason;
using core::FencingToken;
using core::Lease;
using core::LeaseId;
using core::Micros;
using core::Millis;
using core::NodeTime;

// Replies of a script for one operation.
constexpr size_t kReplyWidth = 4;

// The lease that acquire.lua and extend.lua answer: outcome, token, remaining, ttl.
Lease ReadLease(const OperationReply& reply, const LeaseId& lease_id, core::Assurance assurance) {
  Lease lease;
  lease.name = reply.lock_name;
  lease.lease_id = lease_id;
  lease.token = FencingToken{reply.values[1].integer};
  lease.remaining_ttl = Micros(reply.values[2].integer);
  lease.ttl = Millis(reply.values[3].integer);
  lease.lease_end = NodeTime{reply.now.micros + lease.remaining_ttl.count()};
  lease.assurance = assurance;
  return lease;
}

// Time for one further step of a hand-over that nobody waits for.
constexpr Millis kHandOverTimeout{1000};

std::string_view ModeOf(core::PollMode mode) {
  switch (mode) {
    case core::PollMode::kWaiting:
      return "W";
    case core::PollMode::kLeaving:
      return "L";
    case core::PollMode::kHandOver:
      return "H";
  }
  return "H";
}

// Words of a message in front of the key: of an offer, and of the release of a waiter.
constexpr int kOfferWords = 7;
constexpr int kReleasedWords = 2;

// Where the first `count` words of `text` end; its size if it has fewer.
size_t EndOfWords(std::string_view text, int count) {
  size_t end = std::string_view::npos;
  for (int i = 0; i < count; ++i) {
    end = text.find(' ', end == std::string_view::npos ? 0 : end + 1);
    if (end == std::string_view::npos) return text.size();
  }
  return end;
}

// Reads "<lease id> <token> <remaining us> <ttl ms> <previous> <attempt> <keeper>", what
// scripts/line.lua says of an offer. Nothing if `text` is not that.
std::optional<core::Offer> ReadOffer(std::string_view text, const std::string& name) {
  if (text.empty()) return std::nullopt;  // As in nearly every poll.
  std::istringstream words{std::string(text)};
  std::string lease_id_text, previous, keeper_text;
  int64_t token = 0, remaining = 0, ttl = 0;
  int32_t attempt = 0;
  if (!(words >> lease_id_text >> token >> remaining >> ttl >> previous >> attempt >>
        keeper_text)) {
    return std::nullopt;
  }
  const auto lease_id = LeaseId::Parse(lease_id_text);
  const auto keeper = core::Keeper::Parse(keeper_text);
  if (!lease_id || !keeper) return std::nullopt;
  return core::Offer{.name = name,
                     .lease_id = *lease_id,
                     .token = FencingToken{token},
                     .remaining = Micros(remaining),
                     .ttl = Millis(ttl),
                     .previous_lease_expired = previous == "X",
                     .attempt = attempt,
                     .keeper = *keeper};
}

core::Contention ReadContention(const OperationReply& reply) {
  core::Contention contention;
  contention.remaining_ttl = Micros(reply.values[1].integer);
  contention.waiters = static_cast<int32_t>(reply.values[2].integer);
  contention.holder_owner = reply.values[3].text;
  return contention;
}

// What withdraw.lua answers of a place in line that was left: position, "<waiters> <free in us>
// <owner>".
core::Contention ReadSeen(const OperationReply& reply) {
  core::Contention seen;
  seen.position = static_cast<int32_t>(reply.values[2].integer);
  const std::string_view text = reply.values[3].text;
  int64_t free_in = 0;
  const auto waiters = std::from_chars(text.data(), text.data() + text.size(), seen.waiters);
  const char* const end = text.data() + text.size();
  if (waiters.ptr == end) return seen;
  const auto time = std::from_chars(waiters.ptr + 1, end, free_in);
  seen.remaining_ttl = Micros(free_in);
  if (time.ptr != end) seen.holder_owner.assign(time.ptr + 1, end);
  return seen;
}

}  // namespace

RedisLockStore::RedisLockStore(Node& node, OperationQueue& queue, TokenFloor& token_floor,
                               const core::Clock& clock, RedisLockStoreOptions options)
    : node_(node),
      queue_(queue),
      token_floor_(token_floor),
      clock_(clock),
      options_(std::move(options)) {}

void RedisLockStore::Acquire(const core::AcquireRequest& request,
                             core::Done<core::AcquireOutcome> done) {
  constexpr size_t kWaitersDigits = 6;
  const int32_t waiters_max = request.wait_timeout > Millis(0) ? options_.waiters_per_lock_max : 0;
  const std::string text = EncodeText(request);
  queue_.Submit(
      {.script = &kAcquireScript,
       .lock_name = request.name,
       .arguments = CommandPart()
                        .Add(EncodeRequest(request, text.size()))
                        .Add(text)
                        .Add(Digits(waiters_max, kWaitersDigits)),
       .reply_width = kReplyWidth,
       .deadline = request.deadline,
       .done = [this, lease_id = request.lease_id,
                done = std::move(done)](absl::StatusOr<OperationReply> reply) mutable {
         if (!reply.ok()) return std::move(done)(reply.status());
         switch (const int64_t outcome = OutcomeOf(*reply)) {
           case 1:
           case 2:
           case 6:
           case 7: {
             Lease lease = ReadLease(*reply, lease_id, assurance());
             lease.previous_lease_expired = outcome == 2 || outcome == 7;
             lease.offered = outcome >= 6;
             token_floor_.SawToken(lease.token);
             return std::move(done)(core::AcquireOutcome(std::move(lease)));
           }
           case 3: {
             core::Contention contention = ReadContention(*reply);
             if (contention.remaining_ttl == Micros(0))
               GoOnHandingOver(std::string(reply->lock_name));
             return std::move(done)(core::AcquireOutcome(std::move(contention)));
           }
           case 5:
             return std::move(done)(core::AcquireOutcome(core::Waiting{
                 reply->values[1].integer, static_cast<int32_t>(reply->values[2].integer),
                 Micros(reply->values[3].integer)}));
           case 8:
             return std::move(done)(
                 core::Error(ErrorReason::kWaiterLimit,
                             "the lock has " + std::to_string(options_.waiters_per_lock_max) +
                                 " waiters, and may not have more (waiters.per_lock_max)"));
           case 4:
             return std::move(done)(core::Error(
                 ErrorReason::kLeaseEnded, "the lease id was released or used up: take a new one"));
           default:
             return std::move(done)(StatusOfOutcome(outcome, reply->lock_name));
         }
       }});
}

void RedisLockStore::Extend(const core::ExtendRequest& request, core::Done<Lease> done) {
  constexpr size_t kTtlDigits = 8;
  queue_.Submit({.script = &kExtendScript,
                 .lock_name = request.name,
                 .arguments = CommandPart()
                                  .Add(request.lease_id.digits())
                                  .Add(Digits(request.ttl.count(), kTtlDigits))
                                  .Add(request.principal),
                 .reply_width = kReplyWidth,
                 .line_key = request.target == core::ExtendTarget::kOffer ? LineKey::kAlways
                                                                          : LineKey::kWhenAsked,
                 .deadline = request.deadline,
                 .done = [this, lease_id = request.lease_id,
                          done = std::move(done)](absl::StatusOr<OperationReply> reply) mutable {
                   if (!reply.ok()) return std::move(done)(reply.status());
                   switch (const int64_t outcome = OutcomeOf(*reply)) {
                     case 1:
                     case 2: {
                       Lease lease = ReadLease(*reply, lease_id, assurance());
                       lease.previous_lease_expired = outcome == 2;
                       return std::move(done)(std::move(lease));
                     }
                     case 3:
                       return std::move(done)(core::Error(ErrorReason::kLeaseLost,
                                                          "the lease has ended or was never held"));
                     default:
                       return std::move(done)(StatusOfOutcome(outcome, reply->lock_name));
                   }
                 }});
}

void RedisLockStore::Release(const core::ReleaseRequest& request,
                             core::Done<core::ReleaseAnswer> done) {
  constexpr size_t kReleaseReplyWidth = 2;
  queue_.Submit(
      {.script = &kReleaseScript,
       .lock_name = request.name,
       .arguments = CommandPart().Add(EncodeLeaseId(request.lease_id)).Add(request.principal),
       .reply_width = kReleaseReplyWidth,
       .deadline = request.deadline,
       .done = [this, done = std::move(done)](absl::StatusOr<OperationReply> reply) mutable {
         using core::NotReleasedReason;
         if (!reply.ok()) return std::move(done)(reply.status());
         if (reply->values[1].integer == 1) GoOnHandingOver(std::string(reply->lock_name));
         switch (const int64_t outcome = OutcomeOf(*reply)) {
           case 1:
             return std::move(done)(core::ReleaseAnswer{NotReleasedReason::kNone});
           case 2:
             return std::move(done)(core::ReleaseAnswer{NotReleasedReason::kExpired});
           case 3:
             return std::move(done)(core::ReleaseAnswer{NotReleasedReason::kNotHolder});
           case 4:
             return std::move(done)(core::ReleaseAnswer{NotReleasedReason::kWaiterRemoved});
           default:
             return std::move(done)(StatusOfOutcome(outcome, reply->lock_name));
         }
       }});
}

void RedisLockStore::Withdraw(const core::WithdrawRequest& request,
                              core::Done<core::WithdrawResult> done) {
  constexpr size_t kAttemptDigits = 6;
  queue_.Submit(
      {.script = &kWithdrawScript,
       .lock_name = request.name,
       .arguments = CommandPart()
                        .Add(EncodeLeaseId(request.lease_id))
                        .Add(Digits(request.attempt, kAttemptDigits))
                        .Add(request.keeper.digits())
                        .Add(request.scope == core::WithdrawScope::kUnclaimedOnly ? "U" : "L"),
       .reply_width = kReplyWidth,
       .line_key = request.in_line ? LineKey::kAlways : LineKey::kWhenAsked,
       .deadline = request.deadline,
       .done = [this, done = std::move(done)](absl::StatusOr<OperationReply> reply) mutable {
         using core::WithdrawResult;
         if (!reply.ok()) return std::move(done)(reply.status());
         if (reply->values[1].integer == 1) GoOnHandingOver(std::string(reply->lock_name));
         switch (const int64_t outcome = OutcomeOf(*reply)) {
           case 1:
             return std::move(done)(WithdrawResult::kWithdrawn);
           case 2: {
             WithdrawResult result = WithdrawResult::kNotGranted;
             result.seen = ReadSeen(*reply);
             return std::move(done)(std::move(result));
           }
           case 3:
             return std::move(done)(WithdrawResult::kKept);
           default:
             return std::move(done)(StatusOfOutcome(outcome, reply->lock_name));
         }
       }});
}

void RedisLockStore::Fence(const core::FenceRequest& request, core::Done<core::FenceAnswer> done) {
  constexpr size_t kFenceReplyWidth = 2;
  const bool live = request.liveness == core::LeaseLiveness::kRequired;
  queue_.Submit(
      {.script = &kFenceScript,
       .lock_name = request.name,
       .arguments = CommandPart().Add(std::to_string(request.token.value)).Add(live ? "1" : "0"),
       .reply_width = kFenceReplyWidth,
       .deadline = request.deadline,
       .done = [done = std::move(done)](absl::StatusOr<OperationReply> reply) mutable {
         if (!reply.ok()) return std::move(done)(reply.status());
         const int64_t outcome = OutcomeOf(*reply);
         if (outcome < 1 || outcome > 4)
           return std::move(done)(StatusOfOutcome(outcome, reply->lock_name));
         return std::move(done)(core::FenceAnswer{static_cast<core::Verdict>(outcome),
                                                  FencingToken{reply->values[1].integer}});
       }});
}

void RedisLockStore::Poll(const core::PollRequest& request, core::Done<core::PollAnswer> done) {
  constexpr size_t kNumberDigits = 16;
  queue_.Submit({.script = &kPollScript,
                 .lock_name = request.name,
                 .arguments = CommandPart()
                                  .Add(options_.daemon_id)
                                  .Add(ModeOf(request.mode))
                                  .Add(Digits(request.number, kNumberDigits))
                                  .Add(Digits(request.unpark_from, kNumberDigits)),
                 .reply_width = kReplyWidth,
                 .line_key = LineKey::kAlways,
                 .deadline = request.deadline,
                 .done = [this, request,
                          done = std::move(done)](absl::StatusOr<OperationReply> reply) mutable {
                   if (!reply.ok()) return std::move(done)(reply.status());
                   const int64_t outcome = OutcomeOf(*reply);
                   if (outcome < 1 || outcome > 4) {
                     return std::move(done)(StatusOfOutcome(outcome, request.name));
                   }
                   core::PollAnswer answer;
                   answer.parked = outcome == 2;
                   answer.lost = outcome == 4;
                   answer.free_in = Micros(reply->values[1].integer);
                   if (outcome == 3) {
                     answer.unpark_next = reply->values[2].integer;
                   } else {
                     answer.waiters = static_cast<int32_t>(reply->values[2].integer);
                   }
                   answer.offer = ReadOffer(reply->values[3].text, request.name);
                   if (answer.offer) token_floor_.SawToken(answer.offer->token);
                   std::move(done)(std::move(answer));
                 }});
}

void RedisLockStore::ListenToLine(core::LineListener& listener) {
  listener_ = &listener;
  node_.Subscribe(queue_.keys().ChannelPrefix() + options_.daemon_id,
                  [this](std::string_view message) { OnMessage(message); });
}

void RedisLockStore::GoOnHandingOver(const std::string& name) {
  Poll({.name = name,
        .mode = core::PollMode::kHandOver,
        .number = 0,
        .unpark_from = 0,
        .deadline = clock_.Now() + kHandOverTimeout},
       [this, name](absl::StatusOr<core::PollAnswer> answer) {
         const bool more = answer.ok() && answer->free_in == Micros(0) && answer->waiters > 0;
         if (more) GoOnHandingOver(name);
       });
}

// scripts/line.lua: a letter, the lease id, what is to be said, and the key of the record.
void RedisLockStore::OnMessage(std::string_view message) {
  if (listener_ == nullptr || message.empty()) return;
  const bool is_offer = message.front() == 'O';
  message.remove_prefix(1);
  const size_t key_at = EndOfWords(message, is_offer ? kOfferWords : kReleasedWords);
  const auto name = queue_.keys().LockName(message.substr(std::min(key_at + 1, message.size())));
  if (!name || core::ShardOf(*name, options_.shards) != options_.shard) return;
  if (!is_offer) {
    const auto lease_id = LeaseId::Parse(message.substr(0, core::HexId::kLength));
    if (lease_id) listener_->OnWaiterReleased(*name, *lease_id);
    return;
  }
  if (const auto offer = ReadOffer(message.substr(0, key_at), *name)) {
    token_floor_.SawToken(offer->token);
    listener_->OnOffer(*offer);
  }
}

}  // namespace lockkeeper::redis
