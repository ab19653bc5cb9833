// SPDX-License-Identifier: Apache-2.0
#include "core/local_fifo.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>
#include <variant>
#include <vector>

#include "core/errors.h"
#include "core/limits.h"

namespace lockkeeper::core {
namespace {

// Behind the end of the holder's lease, so that the store finds it ended.
constexpr Micros kPastLeaseEnd{500};

}  // namespace

struct LocalFifo::Waiter {
  Queue* queue = nullptr;
  AcquireRequest request;  // With the deadline of its rpc.
  Instant arrived;
  Done<AcquireAnswer> done;
  // A reply was lost: the store may have granted it the lock, or may yet.
  bool doubtful = false;
  bool over = false;  // Its wait ends with the reply that is in flight.
  bool released = false;
  bool caller_left = false;
  std::unique_ptr<Timer> end_timer;
};

struct LocalFifo::Queue {
  std::string name;
  std::list<std::unique_ptr<Waiter>> waiters;  // Oldest first.
  bool asking = false;                         // The store, for the first one.
  bool freed = false;  // The lock was released since: the reply may be from before that.
  Contention seen;     // Of the lock, when it was asked last,
  Instant seen_at;     // which was then.
  std::unique_ptr<Timer> retry;
};

LocalFifo::LocalFifo(LockStore& store, const Clock& clock, Executor& executor,
                     Withdrawals& withdrawals, LockObserver& observer, Millis request_timeout)
    : store_(store),
      clock_(clock),
      executor_(executor),
      withdrawals_(withdrawals),
      observer_(observer),
      deadlines_(clock, request_timeout) {}

LocalFifo::~LocalFifo() { *alive_ = false; }

LocalFifo::Queue* LocalFifo::Find(const std::string& name) {
  const auto found = queues_.find(name);
  return found == queues_.end() ? nullptr : found->second.get();
}

bool LocalFifo::IsAsked(const Waiter& waiter) const {
  return waiter.queue->asking && waiter.queue->waiters.front().get() == &waiter;
}

void LocalFifo::Acquire(AcquireRequest request, Done<AcquireAnswer> done) {
  Queue* const queue = Find(request.name);
  if (queue != nullptr && TakeOver(*queue, request, done)) return;
  if (queue == nullptr || queue->waiters.empty() || request.attempt > 1) {
    return Try(std::move(request), std::move(done));
  }
  if (request.wait_timeout == Millis(0)) {
    return AnswerLater(std::move(done), AcquireAnswer(SeenIn(*queue)));
  }
  Join(std::move(request), clock_.Now(), std::move(done));
}

// Lets a later attempt have the place of an earlier one. True if `request` waits there, or was
// answered.
bool LocalFifo::TakeOver(Queue& queue, AcquireRequest& request, Done<AcquireAnswer>& done) {
  const auto found = std::find_if(
      queue.waiters.begin(), queue.waiters.end(),
      [&](const auto& waiter) { return waiter->request.lease_id == request.lease_id; });
  if (found == queue.waiters.end()) return false;
  Waiter& waiter = **found;
  if (request.attempt < waiter.request.attempt) {
    AnswerLater(std::move(done),
                Error(ErrorReason::kLeaseEnded, "a later attempt of this lease id waits"));
    return true;
  }
  const absl::StatusOr<AcquireAnswer> answer =
      Error(ErrorReason::kOutcomeUnknown, "a later attempt waits in its place");
  Report(waiter, answer);
  AnswerLater(std::move(waiter.done), answer);
  by_keeper_.erase(waiter.request.keeper);
  if (request.wait_timeout == Millis(0)) {
    queue.waiters.erase(found);
    return false;
  }
  auto taking = std::make_unique<Waiter>();
  taking->queue = &queue;
  taking->request = std::move(request);
  taking->arrived = clock_.Now();
  taking->done = std::move(done);
  taking->doubtful = waiter.doubtful || IsAsked(waiter);
  *found = std::move(taking);
  Begin(**found);
  return true;
}

// The first time that the store is asked.
void LocalFifo::Try(AcquireRequest request, Done<AcquireAnswer> done) {
  const Instant arrived = clock_.Now();
  const Instant rpc_deadline = request.deadline;
  request.deadline = deadlines_.OfGrant(rpc_deadline);
  if (request.wait_timeout > Millis(0)) tried_[request.keeper] = false;
  auto asked = std::make_unique<AcquireRequest>(std::move(request));
  const AcquireRequest& to_store = *asked;
  store_.Acquire(to_store, [this, arrived, rpc_deadline, asked = std::move(asked),
                            done = std::move(done)](absl::StatusOr<AcquireAnswer> answer) mutable {
    asked->deadline = rpc_deadline;
    OnTried(std::move(*asked), arrived, std::move(answer), std::move(done));
  });
}

void LocalFifo::OnTried(AcquireRequest request, Instant arrived,
                        absl::StatusOr<AcquireAnswer> answer, Done<AcquireAnswer> done) {
  const auto tried = tried_.extract(request.keeper);
  if (!answer.ok() && MayHaveHappened(answer.status())) {
    return withdrawals_.TakeBackUnknown(request, deadlines_.OfCall(request.deadline),
                                        answer.status(), std::move(done));
  }
  Contention* const seen = answer.ok() ? std::get_if<Contention>(&*answer) : nullptr;
  if (seen == nullptr || tried.empty()) return std::move(done)(std::move(answer));
  if (draining_) return std::move(done)(Draining());
  if (tried.mapped()) {
    seen->reason = ContentionReason::kWaitTimedOut;
    return std::move(done)(std::move(answer));
  }
  std::unique_ptr<Queue>& queue = queues_[request.name];
  const bool is_new = queue == nullptr;
  if (is_new) queue = std::make_unique<Queue>();
  queue->name = request.name;
  queue->seen = std::move(*seen);
  queue->seen_at = clock_.Now();
  Queue& joined = *queue;
  // Another attempt may have asked at the same time, and stand there.
  if (TakeOver(joined, request, done)) return;
  Join(std::move(request), arrived, std::move(done));
  if (is_new) AskWhenFree(joined);
}

// Requires: the lock has a queue.
void LocalFifo::Join(AcquireRequest request, Instant arrived, Done<AcquireAnswer> done) {
  Queue& queue = *queues_.at(request.name);
  if (queue.waiters.size() >= static_cast<size_t>(limits::kWaitersPerLockDefault)) {
    return AnswerLater(std::move(done),
                       Error(ErrorReason::kWaiterLimit, "too many acquires wait for the lock"));
  }
  auto waiter = std::make_unique<Waiter>();
  waiter->queue = &queue;
  waiter->request = std::move(request);
  waiter->arrived = arrived;
  waiter->done = std::move(done);
  queue.waiters.push_back(std::move(waiter));
  Begin(*queue.waiters.back());
}

void LocalFifo::Begin(Waiter& waiter) {
  observer_.OnWaitBegan(waiter.request, static_cast<int32_t>(waiter.queue->waiters.size()));
  by_keeper_[waiter.request.keeper] = &waiter;
  const Instant end = CallDeadlines::OfWait(waiter.request, waiter.arrived);
  const auto delay = std::chrono::duration_cast<Micros>(end - clock_.Now());
  waiter.end_timer = executor_.After(std::max(delay, Micros(0)), [this, &waiter] { End(waiter); });
}

void LocalFifo::AskAfter(Queue& queue, Micros delay) {
  queue.retry = executor_.After(delay, [this, &queue] { Ask(queue); });
}

void LocalFifo::AskWhenFree(Queue& queue) {
  AskAfter(queue, std::min<Micros>(kRetryInterval, queue.seen.remaining_ttl + kPastLeaseEnd));
}

void LocalFifo::Ask(Queue& queue) {
  queue.retry.reset();
  if (queue.waiters.empty()) {
    queues_.erase(queues_.find(queue.name));
    return;
  }
  queue.asking = true;
  queue.freed = false;
  AcquireRequest request = queue.waiters.front()->request;
  request.deadline = deadlines_.OfGrant(request.deadline);
  store_.Acquire(request, [this, alive = alive_, name = queue.name,
                           keeper = request.keeper](absl::StatusOr<AcquireAnswer> answer) {
    if (*alive) OnAsked(name, keeper, std::move(answer));
  });
}

void LocalFifo::OnAsked(const std::string& name, const Keeper& keeper,
                        absl::StatusOr<AcquireAnswer> answer) {
  Queue& queue = *queues_.at(name);
  queue.asking = false;
  // A later attempt has taken its place over, and what was granted with it: it asks itself.
  if (queue.waiters.empty() || queue.waiters.front()->request.keeper != keeper) return Ask(queue);
  Waiter& waiter = *queue.waiters.front();
  if (!answer.ok()) return OnRefused(queue, answer.status());
  if (auto* const lease = std::get_if<Lease>(&*answer)) {
    queue.seen = {.holder_owner = waiter.request.owner, .remaining_ttl = lease->remaining_ttl};
    queue.seen_at = clock_.Now();
    AskWhenFree(queue);
    lease->waited = std::chrono::duration_cast<Micros>(clock_.Now() - waiter.arrived);
    // It asked long ago, and counts a lease from there.
    lease->offered = waiter.request.claim == ClaimMode::kByClient;
    return Answer(waiter, std::move(answer));
  }
  queue.seen = std::get<Contention>(*std::move(answer));
  queue.seen_at = clock_.Now();
  const bool freed = queue.freed;
  freed ? AskAfter(queue, Micros(0)) : AskWhenFree(queue);
  if (waiter.over) End(waiter);
}

// A store that is away, or did not answer, is asked again: that ends no wait.
void LocalFifo::OnRefused(Queue& queue, const absl::Status& error) {
  Waiter& waiter = *queue.waiters.front();
  if (MayHaveHappened(error)) waiter.doubtful = true;
  if (MayHaveHappened(error) || absl::IsUnavailable(error)) {
    AskAfter(queue, kRetryInterval);
    if (waiter.over) End(waiter);
    return;
  }
  AskAfter(queue, Micros(0));  // For the next one.
  Answer(waiter, waiter.released ? AnswerAtEnd(waiter) : error);
}

void LocalFifo::Release(const ReleaseRequest& request, Done<ReleaseAnswer> done) {
  store_.Release(request, [this, released = request,
                           done = std::move(done)](absl::StatusOr<ReleaseAnswer> answer) mutable {
    if (answer.ok()) OnReleased(released, *answer);
    std::move(done)(std::move(answer));
  });
}

void LocalFifo::OnReleased(const ReleaseRequest& request, ReleaseAnswer& answer) {
  Queue* const queue = Find(request.name);
  if (queue == nullptr) return;
  if (answer.released()) {
    queue->freed = true;
    if (!queue->asking) AskAfter(*queue, Micros(0));
    return;
  }
  for (const std::unique_ptr<Waiter>& waiter : queue->waiters) {
    if (waiter->request.lease_id != request.lease_id ||
        waiter->request.principal != request.principal) {
      continue;
    }
    answer.not_released = NotReleasedReason::kWaiterRemoved;
    waiter->released = true;
    return End(*waiter);
  }
}

void LocalFifo::Abandon(const Keeper& keeper) {
  if (const auto tried = tried_.find(keeper); tried != tried_.end()) tried->second = true;
  const auto found = by_keeper_.find(keeper);
  if (found == by_keeper_.end()) return;
  found->second->caller_left = true;
  End(*found->second);
}

void LocalFifo::StartDraining() {
  draining_ = true;
  std::vector<Waiter*> all;
  for (const auto& [name, queue] : queues_) {
    for (const std::unique_ptr<Waiter>& waiter : queue->waiters) all.push_back(waiter.get());
  }
  for (Waiter* const waiter : all) End(*waiter);
}

// A waiter that may have the lock without knowing is answered once that has been taken back.
void LocalFifo::End(Waiter& waiter) {
  if (IsAsked(waiter)) {
    waiter.over = true;
    return;
  }
  absl::StatusOr<AcquireAnswer> answer = AnswerAtEnd(waiter);
  const std::unique_ptr<Waiter> ended = TakeOut(waiter);
  Report(*ended, answer);
  if (!ended->doubtful) return AnswerLater(std::move(ended->done), std::move(answer));
  const AcquireRequest& request = ended->request;
  withdrawals_.Start(
      {request.name, request.lease_id, request.attempt, request.keeper,
       deadlines_.OfCall(request.deadline)},
      clock_.Now() + request.ClosesFor(),
      [answer = std::move(answer),
       done = std::move(ended->done)](absl::StatusOr<WithdrawResult> result) mutable {
        if (!result.ok() || *result == WithdrawResult::kKept) {
          answer = Error(ErrorReason::kOutcomeUnknown,
                         "the wait is over, but the store did not confirm it");
        }
        std::move(done)(std::move(answer));
      },
      Withdrawals::Acquire::kMayBeOnItsWay);
}

absl::StatusOr<AcquireAnswer> LocalFifo::AnswerAtEnd(const Waiter& waiter) const {
  const Queue& queue = *waiter.queue;
  Contention contention = SeenIn(queue);
  --contention.waiters;
  contention.reason = ContentionReason::kCancelled;
  if (waiter.released) return AcquireAnswer(std::move(contention));
  if (draining_) return Draining();
  contention.reason = ContentionReason::kWaitTimedOut;
  const auto place = std::find_if(queue.waiters.begin(), queue.waiters.end(),
                                  [&](const auto& other) { return other.get() == &waiter; });
  contention.position = static_cast<int32_t>(std::distance(queue.waiters.begin(), place)) + 1;
  return AcquireAnswer(std::move(contention));
}

Contention LocalFifo::SeenIn(const Queue& queue) const {
  Contention contention = queue.seen;
  const auto since = std::chrono::duration_cast<Micros>(clock_.Now() - queue.seen_at);
  contention.remaining_ttl = std::max(contention.remaining_ttl - since, Micros(0));
  contention.waiters = static_cast<int32_t>(queue.waiters.size());
  return contention;
}

std::unique_ptr<LocalFifo::Waiter> LocalFifo::TakeOut(Waiter& waiter) {
  by_keeper_.erase(waiter.request.keeper);
  auto& waiters = waiter.queue->waiters;
  const auto place = std::find_if(waiters.begin(), waiters.end(),
                                  [&](const auto& other) { return other.get() == &waiter; });
  std::unique_ptr<Waiter> taken = std::move(*place);
  waiters.erase(place);
  return taken;
}

void LocalFifo::Answer(Waiter& waiter, absl::StatusOr<AcquireAnswer> answer) {
  const std::unique_ptr<Waiter> answered = TakeOut(waiter);
  Report(*answered, answer);
  std::move(answered->done)(std::move(answer));
}

void LocalFifo::Report(const Waiter& waiter, const absl::StatusOr<AcquireAnswer>& answer) {
  observer_.OnWaitEnded(waiter.request.name, waiter.request.keeper,
                        waiter.caller_left ? WaitEnd::kCallerLeft : WaitEndOf(answer),
                        std::chrono::duration_cast<Micros>(clock_.Now() - waiter.arrived));
}

void LocalFifo::AnswerLater(Done<AcquireAnswer> done, absl::StatusOr<AcquireAnswer> answer) {
  executor_.Post([done = std::move(done), answer = std::move(answer)]() mutable {
    std::move(done)(std::move(answer));
  });
}

}  // namespace lockkeeper::core
