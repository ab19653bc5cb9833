// SPDX-License-Identifier: Apache-2.0
#include "redis/operation_queue.h"

#include <algorithm>
#include <chrono>
#include <deque>

#include "core/errors.h"
#include "core/shard.h"
#include "redis/command.h"
#include "redis/error_reply.h"
#include "redis/script_outcome.h"
#include "redis/scripts.h"

namespace lockkeeper::redis {
namespace {

using core::ErrorReason;

// Number of the store's life. Loss detection will raise it; until then there is one.
constexpr std::string_view kEpoch = "0000000001";

// What scripts/record.lua takes before the arguments of the operations.
constexpr size_t kCommonArguments = 5;

}  // namespace

struct OperationQueue::Pending {
  Operation operation;
  Lock* lock = nullptr;
  uint64_t number = 0;  // By age.
  size_t place = 0;     // In deadlines_.
  bool sent = false;
  bool ended = false;  // `done` has run: at the deadline, before the reply.
  PendingPtr next;     // Of the lock's, while it waits.

  CallKind kind() const { return {operation.script, operation.line_key}; }

  // By age if it is the same: no order in the domain may depend on addresses.
  bool Before(const Pending& other) const {
    return operation.deadline != other.operation.deadline
               ? operation.deadline < other.operation.deadline
               : number < other.number;
  }
};

// The operations on one lock that are not in a call, in the order of arrival.
struct OperationQueue::Lock {
  const std::string* name = nullptr;  // In `locks_`.
  size_t lane = 0;
  bool busy = false;   // Operations of this lock are in a call.
  bool ready = false;  // Stands in `ready_`.

  Pending* first() const { return first_.get(); }

  void PushBack(PendingPtr pending) {
    Pending* const added = pending.get();
    (last_ == nullptr ? first_ : last_->next) = std::move(pending);
    last_ = added;
  }

  void PushFront(PendingPtr pending) {
    if (last_ == nullptr) last_ = pending.get();
    pending->next = std::move(first_);
    first_ = std::move(pending);
  }

  PendingPtr PopFront() {
    PendingPtr popped = std::move(first_);
    first_ = std::move(popped->next);
    if (!first_) last_ = nullptr;
    return popped;
  }

  // A long list would otherwise be destroyed by as deep a recursion.
  ~Lock() {
    while (first_) PopFront();
  }

 private:
  PendingPtr first_;
  Pending* last_ = nullptr;
};

struct OperationQueue::Call {
  CallKind kind;
  size_t lane;
  size_t reply_width;
  std::vector<PendingPtr> operations;
};

OperationQueue::OperationQueue(Node& node, const core::Clock& clock, core::Executor& executor,
                               TokenFloor& token_floor, OperationQueueOptions options)
    : node_(node),
      clock_(clock),
      executor_(executor),
      token_floor_(token_floor),
      options_(std::move(options)) {}

OperationQueue::~OperationQueue() {
  *alive_ = false;
  while (!deadlines_.empty()) {
    Pending& pending = deadlines_.First();
    Complete(pending, core::Error(pending.sent ? ErrorReason::kOutcomeUnknown
                                               : ErrorReason::kStoreUnavailable,
                                  "the daemon is stopping"));
  }
}

void OperationQueue::Submit(Operation operation) {
  auto slot = locks_.find(operation.lock_name);
  if (slot == locks_.end()) {
    slot = locks_.try_emplace(operation.lock_name).first;
    slot->second.name = &slot->first;
    slot->second.lane = core::HashOfName(operation.lock_name) % node_.lanes();
  }
  auto pending = std::make_unique<Pending>();
  pending->operation = std::move(operation);
  pending->lock = &slot->second;
  WatchDeadline(*pending);
  slot->second.PushBack(std::move(pending));
  Unbusy(slot->second);
}

// Lets the lock's next operations go, if none is in a call.
void OperationQueue::Unbusy(Lock& lock) {
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
  for (Lock* lock : std::exchange(ready_, {})) {
    lock->ready = false;
    TakeReady(*lock, open);
  }
  for (std::unique_ptr<Call>& call : open) Send(std::move(call));
}

// Moves the lock's first operations of one kind into an open call.
void OperationQueue::TakeReady(Lock& lock, std::vector<std::unique_ptr<Call>>& open) {
  while (lock.first() != nullptr && lock.first()->ended) lock.PopFront();
  if (lock.first() == nullptr) {
    locks_.erase(locks_.find(*lock.name));
    return;
  }
  const Pending& first = *lock.first();
  auto slot = std::find_if(open.begin(), open.end(), [&](const std::unique_ptr<Call>& call) {
    return call->kind == first.kind() && call->lane == lock.lane;
  });
  if (slot == open.end()) {
    open.push_back(
        std::make_unique<Call>(Call{first.kind(), lock.lane, first.operation.reply_width, {}}));
    slot = std::prev(open.end());
    (*slot)->operations.reserve(kOperationsPerCall);
  }
  Call& call = **slot;
  lock.busy = true;
  while (lock.first() != nullptr && lock.first()->kind() == call.kind &&
         call.operations.size() < kOperationsPerCall) {
    PendingPtr pending = lock.PopFront();
    if (pending->ended) continue;
    pending->sent = true;
    call.operations.push_back(std::move(pending));
  }
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
  Command command(3 + kCommonArguments + count * (keys_per_lock + first.arguments.size()));
  // Of about the same length each; the key stands twice at most, with a prefix and a suffix.
  constexpr size_t kBytesMore = 64;
  command.Reserve(kBytesMore * 4 +
                  count * (kBytesMore * keys_per_lock + first.lock_name.size() * keys_per_lock +
                           first.arguments.wire().size()));
  const ScriptSource& script = call->kind.script->ForKeys(keys_per_lock);
  command.Word("EVALSHA").Word(script.sha1);
  command.Number(static_cast<int64_t>(count * keys_per_lock));
  for (const PendingPtr& pending : call->operations) {
    command.Word(options_.keys.RecordKey(pending->operation.lock_name));
    if (keys_per_lock == 2) command.Word(options_.keys.LineKey(pending->operation.lock_name));
  }
  command.Number(token_floor_.value()).Number(options_.record_retention.count()).Word(kEpoch);
  command.Number(static_cast<int64_t>(keys_per_lock)).Word(options_.keys.ChannelPrefix());
  for (const PendingPtr& pending : call->operations) {
    command.Append(pending->operation.arguments);
  }
  const size_t lane = call->lane;
  node_.Run(lane, script, std::move(command),
            [this, alive = alive_, call = std::move(call)](absl::StatusOr<Reply> reply) {
              if (*alive) OnReply(*call, std::move(reply));
            });
}

void OperationQueue::OnReply(Call& call, absl::StatusOr<Reply> reply) {
  absl::Status error = reply.status();
  if (error.ok() && reply->type == Reply::Type::kError) error = StatusOfErrorReply(reply->text);
  if (error.ok() && (reply->type != Reply::Type::kArray ||
                     reply->items.size() != 1 + call.operations.size() * call.reply_width)) {
    error = core::Error(ErrorReason::kInvariantViolated, "a script answered in another shape");
  }
  core::NodeTime now;
  if (error.ok()) {
    now.micros = reply->items.front().integer;
    token_floor_.SawClock(now);
  }

  const auto reply_of = [&](size_t i) {
    const std::span<const Reply> items = reply->items;
    return OperationReply{now, items.subspan(1 + i * call.reply_width, call.reply_width),
                          call.operations[i]->operation.lock_name};
  };

  // Locks first: what `done` submits has to find them free, and behind what is sent again. From the
  // last to the first, so that those that are sent again keep their order.
  for (const PendingPtr& pending : call.operations) pending->lock->busy = false;
  for (size_t i = call.operations.size(); i-- > 0;) {
    Lock& lock = *call.operations[i]->lock;
    if (error.ok() && WantsLine(*call.operations[i], reply_of(i))) {
      SendAgain(std::move(call.operations[i]));
    }
    Unbusy(lock);
  }
  for (size_t i = 0; i < call.operations.size(); ++i) {
    if (!call.operations[i] || call.operations[i]->ended) continue;
    if (error.ok()) {
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
  Lock& lock = *pending->lock;
  lock.PushFront(std::move(pending));
}

void OperationQueue::Complete(Pending& pending, absl::StatusOr<OperationReply> reply) {
  deadlines_.Remove(pending);
  pending.ended = true;
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

void OperationQueue::ExpireDue() {
  if (deadlines_.empty()) return;
  const core::Instant now = clock_.Now();
  while (!deadlines_.empty() && deadlines_.First().operation.deadline <= now) {
    Pending& pending = deadlines_.First();
    Complete(pending, pending.sent ? core::Error(ErrorReason::kOutcomeUnknown,
                                                 "the store did not answer in time")
                                   : core::Error(ErrorReason::kStoreUnavailable,
                                                 "no time was left to ask the store"));
  }
}

}  // namespace lockkeeper::redis
