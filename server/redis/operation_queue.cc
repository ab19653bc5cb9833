// SPDX-License-Identifier: Apache-2.0
#include "redis/operation_queue.h"

#include <algorithm>
#include <chrono>
#include <deque>

#include "core/errors.h"
#include "core/limits.h"
#include "redis/format/lock_record.h"
#include "redis/node/command.h"
#include "redis/node/error_reply.h"
#include "redis/queued_operation.h"
#include "redis/script_outcome.h"
#include "redis/scripts.h"

namespace lockkeeper::redis {
namespace {

using core::ErrorReason;
using core::limits::kOperationsPerLockMax;

// What scripts/frame.lua takes before the arguments of the operations.
constexpr size_t kCommonArguments = 9;

constexpr size_t kTimeDigits = 16;

// Before operations are sent again whose keys are being moved to another server of a Cluster.
constexpr core::Millis kMovedPause{10};

bool IsRefusedByGuard(const Reply& reply) {
  return reply.type == Reply::Type::kArray && reply.items.size() == 2 &&
         reply.items[1].type == Reply::Type::kInteger &&
         (reply.items[1].integer == kOutcomeGuard || reply.items[1].integer == kOutcomeOlder);
}

absl::Status TooManyOfLock(ErrorReason reason) {
  return core::Error(reason, "more is asked of this lock than the store carries out in time");
}

}  // namespace

struct OperationQueue::Call {
  CallKind kind;
  Route route;
  size_t reply_width;
  std::vector<PendingPtr> operations;
  core::Instant sent;
};

OperationQueue::OperationQueue(Node& node, StoreGuard& guard, const core::Clock& clock,
                               core::Executor& executor, OperationQueueOptions options)
    : node_(node), guard_(guard), clock_(clock), executor_(executor), options_(std::move(options)) {
  guard_.SetListener([this] { ReleaseHeld(); });
}

OperationQueue::~OperationQueue() {
  *alive_ = false;
  guard_.SetListener([] {});
  while (!deadlines_.empty()) {
    Pending& pending = deadlines_.First();
    Complete(pending, core::Error(pending.sent ? ErrorReason::kOutcomeUnknown
                                               : ErrorReason::kStoreUnavailable,
                                  "the daemon is stopping"));
  }
}

void OperationQueue::Submit(Operation operation) {
  const auto [found, is_new] = locks_.try_emplace(options_.keys.RecordKey(operation.lock_name));
  Lock& lock = found->second;
  if (is_new) {
    lock.record_key = &found->first;
    lock.route = node_.RouteOf(found->first);
  }
  if (operation.rank == Rank::kNewcomer && lock.waiting >= kOperationsPerLockMax) {
    return Reject(std::move(operation.done), TooManyOfLock(ErrorReason::kRateLimit));
  }
  auto pending = std::make_unique<Pending>();
  pending->operation = std::move(operation);
  pending->lock = &lock;
  WatchDeadline(*pending);
  Add(lock, std::move(pending));
  ScheduleNext(lock);
}

void OperationQueue::Reject(OperationDone done, absl::Status error) {
  executor_.Post([done = std::move(done), error = std::move(error)]() mutable {
    std::move(done)(std::move(error));
  });
}

// An extend goes ahead, so that its holder does not lose the lease because of many acquires. What
// was asked of the same lease before stays before it.
void OperationQueue::Add(Lock& lock, PendingPtr pending) {
  const Operation& operation = pending->operation;
  const bool ahead = operation.rank == Rank::kContinuation ||
                     (operation.rank == Rank::kRenewal && !waiting_.contains(operation.lease_id));
  if (operation.lease_id != core::LeaseId()) ++waiting_[operation.lease_id];
  ++lock.waiting;
  (ahead ? lock.ahead : lock.in_order).PushBack(std::move(pending));
}

// Makes the operation the first of its lock again.
void OperationQueue::PutBack(PendingPtr pending) {
  const core::LeaseId& lease_id = pending->operation.lease_id;
  if (lease_id != core::LeaseId()) ++waiting_[lease_id];
  Lock& lock = *pending->lock;
  ++lock.waiting;
  lock.ahead.PushFront(std::move(pending));
}

OperationQueue::PendingPtr OperationQueue::TakeFirst(Lock& lock) {
  PendingPtr taken = lock.next().PopFront();
  if (!taken->ended) --lock.waiting;
  const auto count = waiting_.find(taken->operation.lease_id);
  if (count != waiting_.end() && --count->second == 0) waiting_.erase(count);
  return taken;
}

// Lets the lock's next operations go, if none is in a call.
void OperationQueue::ScheduleNext(Lock& lock) {
  if (lock.busy || lock.ready) return;
  lock.ready = true;
  ready_.push_back(&lock);
  FlushAtEndOfTurn();
}

void OperationQueue::FlushAtEndOfTurn() {
  if (flush_scheduled_) return;
  flush_scheduled_ = true;
  executor_.AtEndOfTurn([this, alive = alive_] {
    if (*alive) Flush();
  });
}

void OperationQueue::Flush() {
  flush_scheduled_ = false;
  ExpireDue();
  std::vector<std::unique_ptr<Call>> open;
  flushing_.swap(ready_);
  for (Lock* lock : flushing_) {
    if (HeldBack(*lock)) continue;
    lock->ready = false;
    TakeReady(*lock, open);
  }
  flushing_.clear();
  for (std::unique_ptr<Call>& call : open) Send(std::move(call));
}

// Sets a lock aside if the guard does not permit its first operation.
bool OperationQueue::HeldBack(Lock& lock) {
  while (lock.first() != nullptr && lock.first()->ended) TakeFirst(lock);
  if (lock.first() == nullptr || IsPermitted(lock)) return false;
  held_.push_back(&lock);
  return true;
}

// Whether the guard permits the first operation.
bool OperationQueue::IsPermitted(Lock& lock) const {
  const Operation& first = lock.first()->operation;
  return guard_.Permits(lock.route, first.closes_for, first.granting);
}

// The guard has changed its mind: the locks that were set aside may ask again.
void OperationQueue::ReleaseHeld() {
  if (held_.empty()) return;
  ready_.insert(ready_.end(), held_.begin(), held_.end());
  held_.clear();
  FlushAtEndOfTurn();
}

// Moves the lock's first operations of one kind into an open call. The first is permitted.
void OperationQueue::TakeReady(Lock& lock, std::vector<std::unique_ptr<Call>>& open) {
  if (lock.first() == nullptr) {
    locks_.erase(locks_.find(*lock.record_key));
    return;
  }
  const Pending& first = *lock.first();
  auto slot = std::find_if(open.begin(), open.end(), [&](const std::unique_ptr<Call>& call) {
    return call->kind == first.kind() && call->route == lock.route;
  });
  if (slot == open.end()) {
    open.push_back(
        std::make_unique<Call>(Call{first.kind(), lock.route, first.operation.reply_width, {}}));
    slot = std::prev(open.end());
    (*slot)->operations.reserve(kOperationsPerCall);
  }
  Call& call = **slot;
  lock.busy = true;
  do {
    PendingPtr pending = TakeFirst(lock);
    if (pending->ended) continue;
    pending->sent = true;
    call.operations.push_back(std::move(pending));
  } while (lock.first() != nullptr && lock.first()->kind() == call.kind &&
           call.operations.size() < kOperationsPerCall && IsPermitted(lock));
  if (call.operations.size() == kOperationsPerCall) {
    std::unique_ptr<Call> full = std::move(*slot);
    open.erase(slot);
    Send(std::move(full));
  }
}

void OperationQueue::Send(std::unique_ptr<Call> call) {
  const Operation& first = call->operations.front()->operation;
  const size_t count = call->operations.size();
  const size_t keys_per_lock = call->kind.line_key == LineKey::kAlways ? 2 : 1;
  const size_t keys = count * keys_per_lock + 1;  // The last one is the marker's.
  Command command(3 + keys + kCommonArguments + count * first.arguments.size());
  // Of about the same length each; the key stands twice at most, with a prefix and a suffix.
  constexpr size_t kBytesMore = 64;
  command.Reserve(kBytesMore * 4 +
                  count * (kBytesMore * keys_per_lock + first.lock_name.size() * keys_per_lock +
                           first.arguments.wire().size()));
  const ScriptSource& script = call->kind.script->ForKeys(keys_per_lock);
  command.Word("EVALSHA").Word(script.sha1);
  command.Number(static_cast<int64_t>(keys));
  for (const PendingPtr& pending : call->operations) {
    const std::string& record_key = *pending->lock->record_key;
    command.Word(record_key);
    if (keys_per_lock == 2) command.Word(KeyLayout::LineKeyOf(record_key));
  }
  AddMarkerAndCommonArguments(*call, keys_per_lock, command);
  for (const PendingPtr& pending : call->operations) {
    command.Append(pending->operation.arguments);
  }
  const Route route = call->route;
  call->sent = clock_.Now();
  node_.Run(route, script, std::move(command),
            [this, alive = alive_, call = std::move(call)](absl::StatusOr<Reply> reply) {
              if (*alive) OnReply(*call, std::move(reply));
            });
}

void OperationQueue::AddMarkerAndCommonArguments(const Call& call, size_t keys_per_lock,
                                                 Command& command) const {
  const auto time = [&command](core::NodeTime at) { command.Word(Digits(at.micros, kTimeDigits)); };
  core::Millis closes_for{};
  for (const PendingPtr& pending : call.operations) {
    closes_for = std::max(closes_for, pending->operation.closes_for);
  }
  const CallPermit permit = guard_.Permit(call.route, closes_for);
  command.Word(permit.marker_key);
  command.Number(permit.token_floor).Number(options_.record_retention.count());
  command.Word(permit.epoch).Number(static_cast<int64_t>(keys_per_lock));
  command.Word(options_.keys.ChannelPrefix());
  command.Word(permit.marker);
  time(permit.grants_from);
  time(permit.earliest);
  time(permit.latest);
}

// Nothing was done: the operations are the first of their locks again, in their order.
void OperationQueue::TakeBack(Call& call, std::vector<Lock*>& locks) {
  for (const PendingPtr& pending : call.operations) pending->lock->busy = false;
  for (size_t i = call.operations.size(); i-- > 0;) {
    call.operations[i]->sent = false;
    Lock& lock = *call.operations[i]->lock;
    if (!call.operations[i]->ended) PutBack(std::move(call.operations[i]));
    if (!std::exchange(lock.ready, true)) locks.push_back(&lock);
  }
}

// Meanwhile the node finds out where the keys are.
void OperationQueue::OnKeysMoved(Call& call) {
  TakeBack(call, held_);
  if (moved_timer_) return;
  moved_timer_ = executor_.After(kMovedPause, [this] {
    moved_timer_.reset();
    ReleaseHeld();
  });
}

// The script found another marker or clock than the guard expected, and did nothing. All operations
// are sent again, once the guard has looked.
void OperationQueue::OnGuardRefused(Call& call, int64_t outcome) {
  TakeBack(call, ready_);
  FlushAtEndOfTurn();
  guard_.OnRefused(call.route, call.sent,
                   outcome == kOutcomeOlder ? RefusedFor::kOlderData : RefusedFor::kOther);
}

void OperationQueue::OnReply(Call& call, absl::StatusOr<Reply> reply) {
  if (reply.ok() && IsRefusedByGuard(*reply)) {
    return OnGuardRefused(call, reply->items[1].integer);
  }
  if (reply.ok() && reply->type == Reply::Type::kError && IsOfMovedKeys(reply->text)) {
    return OnKeysMoved(call);
  }
  absl::Status error = reply.status();
  if (error.ok() && reply->type == Reply::Type::kError) error = StatusOfErrorReply(reply->text);
  if (error.ok() && (reply->type != Reply::Type::kArray ||
                     reply->items.size() != 1 + call.operations.size() * call.reply_width)) {
    error = core::Error(ErrorReason::kInvariantViolated, "a script answered in another shape");
  }
  core::NodeTime now;
  bool by_right_clock = true;
  if (error.ok()) {
    now.micros = reply->items.front().integer;
    by_right_clock = guard_.OnAnswered(call.route, call.sent, now);
  }

  const auto reply_of = [&](size_t i) {
    const std::span<const Reply> items = reply->items;
    return OperationReply{now,
                          items.subspan(1 + i * call.reply_width, call.reply_width),
                          call.operations[i]->operation.lock_name,
                          call.route,
                          call.sent,
                          by_right_clock};
  };

  // Frees the locks before any `done` runs: what `done` submits must find them free, and must queue
  // after operations that are sent again. From the last to the first, so that these keep their
  // order.
  for (const PendingPtr& pending : call.operations) {
    pending->lock->busy = false;
    if (error.ok()) pending->lock->answered = next_number_;
  }
  for (size_t i = call.operations.size(); i-- > 0;) {
    Lock& lock = *call.operations[i]->lock;
    if (error.ok() && WantsLine(*call.operations[i], reply_of(i))) {
      SendAgain(std::move(call.operations[i]));
    }
    ScheduleNext(lock);
  }
  for (size_t i = 0; i < call.operations.size(); ++i) {
    if (!call.operations[i] || call.operations[i]->ended) continue;
    if (error.ok() && !by_right_clock && !call.operations[i]->operation.survives_clock_step) {
      Complete(*call.operations[i],
               core::Error(ErrorReason::kOutcomeUnknown,
                           "the store's clock was set while the call was under way"));
    } else if (error.ok()) {
      Complete(*call.operations[i], reply_of(i));
    } else {
      Complete(*call.operations[i], error);
    }
  }
}

bool OperationQueue::WantsLine(const Pending& pending, const OperationReply& reply) const {
  return OutcomeOf(reply) == kOutcomeLine && !pending.ended;
}

// Puts an operation that has to see the line in front of its lock's others, with the line's key.
void OperationQueue::SendAgain(PendingPtr pending) {
  pending->operation.line_key = LineKey::kAlways;
  pending->sent = false;
  PutBack(std::move(pending));
}

void OperationQueue::Complete(Pending& pending, absl::StatusOr<OperationReply> reply) {
  deadlines_.Remove(pending);
  pending.ended = true;
  if (!pending.sent) --pending.lock->waiting;
  OperationDone done = std::move(pending.operation.done);
  std::move(done)(std::move(reply));
}

void OperationQueue::WatchDeadline(Pending& pending) {
  pending.number = next_number_++;
  deadlines_.Add(pending);
  if (pending.operation.deadline < timer_at_) ArmTimer(pending.operation.deadline);
}

void OperationQueue::ArmTimer(core::Instant at) {
  timer_at_ = at;
  const auto delay = std::chrono::duration_cast<core::Micros>(at - clock_.Now());
  timer_ = executor_.After(std::max(delay, core::Micros(0)), [this] {
    timer_at_ = core::Instant::max();
    ExpireDue();
    if (deadlines_.empty() || timer_at_ != core::Instant::max()) return;
    const core::Instant next = deadlines_.First().operation.deadline;
    if (next < core::Instant::max()) ArmTimer(next);  // Otherwise none that is left has a deadline.
  });
}

// Why an operation that was not sent ends at its deadline.
absl::Status OperationQueue::NotSent(const Pending& pending) const {
  const std::string held = guard_.HeldBackBecause(pending.lock->route);
  if (!held.empty()) return core::Error(ErrorReason::kStoreUnavailable, held);
  if (pending.number < pending.lock->answered) {  // So it does answer, and answers others.
    return TooManyOfLock(pending.operation.rank == Rank::kNewcomer
                             ? ErrorReason::kRateLimit
                             : ErrorReason::kStoreUnavailable);
  }
  return core::Error(ErrorReason::kStoreUnavailable,
                     "Redis could not be asked within store.request_timeout, or within the "
                     "deadline of the call: give it at least a second");
}

void OperationQueue::ExpireDue() {
  if (deadlines_.empty()) return;
  const core::Instant now = clock_.Now();
  while (!deadlines_.empty() && deadlines_.First().operation.deadline <= now) {
    Pending& pending = deadlines_.First();
    Complete(pending, pending.sent ? core::Error(ErrorReason::kOutcomeUnknown,
                                                 "the store did not answer in time")
                                   : NotSent(pending));
  }
}

}  // namespace lockkeeper::redis
