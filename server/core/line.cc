// SPDX-License-Identifier: Apache-2.0
#include "core/line.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/errors.h"

namespace lockkeeper::core {
namespace {

// Before a claim without an answer is repeated. An offer runs for a second.
constexpr Millis kClaimPause{50};
// How long an offer may take to be claimed: as long as the longest one.
constexpr Millis kClaimTime{3000};

}  // namespace

Line::Line(LockStore& store, WaitingLine& line, const Clock& clock, Executor& executor,
           Withdrawals& withdrawals, LockObserver& observer, Millis request_timeout)
    : store_(store),
      line_(line),
      clock_(clock),
      executor_(executor),
      withdrawals_(withdrawals),
      observer_(observer),
      deadlines_(clock, request_timeout),
      told_(kClaimTime),
      polls_due_(clock, executor, [this](LocalLine& due) { Poll(due); }) {
  line_.Listen(*this);
}

Line::~Line() { *alive_ = false; }

LocalLine* Line::Find(const std::string& name) {
  const auto found = lines_.find(name);
  return found == lines_.end() ? nullptr : found->second.get();
}

LineWaiter* Line::Find(const Keeper& keeper) {
  const auto found = by_keeper_.find(keeper);
  return found == by_keeper_.end() ? nullptr : *found;
}

void Line::Acquire(AcquireRequest request, Done<AcquireAnswer> done) {
  const Instant arrived = clock_.Now();
  const Instant rpc_deadline = request.deadline;
  request.deadline = deadlines_.OfGrant(rpc_deadline);
  auto asked = std::make_unique<AcquireRequest>(std::move(request));
  const AcquireRequest& to_store = *asked;
  if (to_store.wait_timeout == Millis(0)) {
    return store_.Acquire(to_store,
                          [this, arrived, rpc_deadline, asked = std::move(asked),
                           done = std::move(done)](absl::StatusOr<AcquireAnswer> answer) mutable {
                            asked->deadline = rpc_deadline;
                            OnTried(std::move(*asked), arrived, std::move(answer), std::move(done));
                          });
  }
  expected_.Add(to_store.keeper, to_store.lease_id);
  line_.Stand(to_store, /*old_number=*/0,
              [this, arrived, rpc_deadline, asked = std::move(asked),
               done = std::move(done)](absl::StatusOr<AcquireOutcome> outcome) mutable {
                asked->deadline = rpc_deadline;
                OnStood(std::move(*asked), arrived, std::move(outcome), std::move(done));
              });
}

void Line::OnStood(AcquireRequest request, Instant arrived, absl::StatusOr<AcquireOutcome> outcome,
                   Done<AcquireAnswer> done) {
  const Waiting* const place = outcome.ok() ? std::get_if<Waiting>(&*outcome) : nullptr;
  if (place != nullptr) {
    Wait(std::move(request), *place, arrived, std::move(done));
    if (draining_) StartDraining();
    return;
  }
  Lease* const lease = outcome.ok() ? std::get_if<Lease>(&*outcome) : nullptr;
  const bool is_offer = lease != nullptr && lease->offered;
  if (!is_offer) expected_.Take(request.keeper);  // OnOffered() asks what was said of it.
  absl::StatusOr<AcquireAnswer> answer = AcquireAnswer();
  if (!outcome.ok()) {
    answer = outcome.status();
  } else if (lease != nullptr) {
    answer = AcquireAnswer(std::move(*lease));
  } else {
    answer = AcquireAnswer(std::get<Contention>(*std::move(outcome)));
  }
  OnTried(std::move(request), arrived, std::move(answer), std::move(done));
}

void Line::OnTried(AcquireRequest request, Instant arrived, absl::StatusOr<AcquireAnswer> answer,
                   Done<AcquireAnswer> done) {
  if (!answer.ok() && MayHaveHappened(answer.status())) {
    return withdrawals_.TakeBackUnknown(request, deadlines_.OfCall(request.deadline),
                                        answer.status(), std::move(done));
  }
  const Lease* const lease = answer.ok() ? std::get_if<Lease>(&*answer) : nullptr;
  if (lease != nullptr && lease->offered) {
    return OnOffered(std::move(request), arrived, *lease, std::move(done));
  }
  std::move(done)(std::move(answer));
}

// The store has offered the lock in its reply: it was the turn of this acquire.
void Line::OnOffered(AcquireRequest request, Instant arrived, const Lease& offered,
                     Done<AcquireAnswer> done) {
  if (request.claim == ClaimMode::kByClient && offered.assurance >= request.min_assurance) {
    expected_.Take(request.keeper);
    Offered(request.lease_id, offered.token);
    return std::move(done)(AcquireAnswer(offered));
  }
  const Offer offer = OfferOf(offered, request);
  const Waiting place{
      .number = offered.place.number, .free_in = offered.remaining_ttl, .line = offered.place.line};
  // One that does not wait for its turn waits for what its turn takes, for as long as that runs.
  const bool does_not_wait = request.wait_timeout == Millis(0);
  if (does_not_wait) {
    request.wait_timeout =
        std::chrono::ceil<Millis>(clock_.Now() + offered.remaining_ttl - arrived);
  }
  Wait(std::move(request), place, arrived, std::move(done));
  if (LineWaiter* const waiter = Find(offer.keeper)) waiter->does_not_wait = does_not_wait;
  OnOffer(offer);
}

Offer Line::OfferOf(const Lease& offered, const AcquireRequest& request) {
  return {.name = offered.name,
          .lease_id = offered.lease_id,
          .token = offered.token,
          .remaining = offered.remaining_ttl,
          .ttl = offered.ttl,
          .previous_lease_expired = offered.previous_lease_expired,
          .attempt = request.attempt,
          .keeper = request.keeper,
          .assurance = offered.assurance};
}

// The acquire stands in line at `place`.
void Line::Wait(AcquireRequest request, const Waiting& place, Instant arrived,
                Done<AcquireAnswer> done) {
  observer_.OnWaitBegan(request, place.position);
  const Instant wait_end = CallDeadlines::OfWait(request, arrived);
  std::unique_ptr<LocalLine>& line = lines_[request.name];
  if (!line) {
    line = std::make_unique<LocalLine>();
    line->name = request.name;
  }
  const auto older = line->waiters.find(request.lease_id);
  if (older != line->waiters.end()) {
    // A retry over this daemon has taken the place over; the older call has nothing to wait for.
    AnswerLater(**older, Error(ErrorReason::kOutcomeUnknown, "a later attempt waits in its place"));
    line->waiters.erase(older);
  }
  auto owned = std::make_unique<LineWaiter>();
  LineWaiter* const waiter = owned.get();
  waiter->line = line.get();
  waiter->request = std::move(request);
  waiter->request.name = std::string();
  waiter->place = place;
  waiter->arrived = arrived;
  waiter->done = std::move(done);
  line->waiters.insert(std::move(owned));
  by_keeper_.insert(waiter);
  const auto delay = std::chrono::duration_cast<Micros>(wait_end - clock_.Now());
  waiter->end_timer =
      executor_.After(std::max(delay, Micros(0)), [this, waiter] { Leave(*waiter); });
  line->length = std::max(line->length, place.position);
  PollWhenFree(*line, place.free_in);
  const std::optional<EarlyNews> news = expected_.Take(waiter->request.keeper);
  if (!news) return;
  waiter->caller_left = news->abandoned;
  if (!draining_) CatchUp(*waiter, *news);
}

void Line::CatchUp(LineWaiter& waiter, const EarlyNews& news) {
  if (news.released) return Cancel(waiter);
  if (news.abandoned) return Leave(waiter);
  if (news.offer) TakeUp(waiter, *news.offer);
}

void Line::Abandon(const Keeper& keeper) {
  if (LineWaiter* const waiter = Find(keeper)) {
    waiter->caller_left = true;
    return Leave(*waiter);
  }
  if (EarlyNews* const news = expected_.Find(keeper)) news->abandoned = true;
}

void Line::StartDraining() {
  draining_ = true;
  polls_due_.CancelAll();
  for (auto& [name, line] : lines_) {
    line_.Leave(name, clock_.Now() + kStoreTimeout);
    std::erase_if(line->waiters, [this](const std::unique_ptr<LineWaiter>& entry) {
      LineWaiter& waiter = *entry;
      // Its own answer comes soon. What nobody waits for any more has to be taken back.
      if (waiter.state == LineWaiter::State::kLeaving) return false;
      if (waiter.state == LineWaiter::State::kClaiming && waiter.caller_left) return false;
      AnswerLater(waiter, Error(ErrorReason::kServerDraining,
                                "this daemon is stopping; the place in line is kept"));
      return true;
    });
  }
  std::erase_if(lines_, [](const auto& entry) { return entry.second->waiters.empty(); });
}

void Line::OnOffer(const Offer& offer) {
  if (LineWaiter* const waiter = Find(offer.keeper)) return TakeUp(*waiter, offer);
  EarlyNews* const news = expected_.Find(offer.keeper);
  if (news == nullptr) return Decline(offer);
  news->offer = offer;
}

void Line::TakeUp(LineWaiter& waiter, Offer offer) {
  if (waiter.state != LineWaiter::State::kWaiting) return;
  if (waiter.put_back && offer.token <= *waiter.put_back) return;
  if (offer.assurance >= waiter.request.min_assurance) return PassOn(waiter, offer);
  // What is left is for the claim.
  Confirm(waiter, offer, offer.remaining / 2, &Line::PutBack);
}

void Line::Confirm(LineWaiter& waiter, Offer offer, Micros within, IfUnconfirmed otherwise) {
  waiter.state = LineWaiter::State::kConfirming;
  store_.Confirm(waiter.line->name, waiter.request.min_assurance, clock_.Now() + within,
                 [this, alive = alive_, offer = std::move(offer), otherwise,
                  began = clock_.Now()](Assurance confirmed) mutable {
                   LineWaiter* const found = *alive ? Find(offer.keeper) : nullptr;
                   if (found == nullptr || found->state != LineWaiter::State::kConfirming) return;
                   found->state = LineWaiter::State::kWaiting;
                   offer.assurance = std::max(offer.assurance, confirmed);
                   offer.remaining -= std::chrono::duration_cast<Micros>(clock_.Now() - began);
                   const bool is_enough = offer.assurance >= found->request.min_assurance;
                   return is_enough ? PassOn(*found, offer) : (this->*otherwise)(*found, offer);
                 });
}

// Too little is confirmed of the offer: the waiter is next again, once a poll of anybody offers the
// lock anew. After the first time it is passed over for a while: it keeps its place, and those
// behind it, who may need less or have a daemon that is better connected, have a turn.
void Line::PutBack(LineWaiter& waiter, const Offer& offer) {
  if (waiter.does_not_wait) return TakeBack(waiter, offer);
  const bool is_first = !std::exchange(waiter.put_back, offer.token);
  withdrawals_.Start({.name = offer.name,
                      .lease_id = offer.lease_id,
                      .attempt = offer.attempt,
                      .keeper = offer.keeper,
                      .deadline = clock_.Now() + kStoreTimeout,
                      .scope = is_first ? WithdrawScope::kPutBack : WithdrawScope::kPassOver,
                      .token = offer.token},
                     clock_.Now() + offer.remaining, [](absl::StatusOr<WithdrawResult>) {});
  if (!is_first) StandAgainLater(waiter);
  if (draining_) StartDraining();
}

void Line::PassOn(LineWaiter& waiter, const Offer& offer) {
  Offered(waiter.request.lease_id, offer.token);
  if (waiter.request.claim == ClaimMode::kByDaemon) return Claim(waiter);

  Lease lease;
  lease.name = offer.name;
  lease.lease_id = offer.lease_id;
  lease.token = offer.token;
  lease.ttl = offer.ttl;
  lease.remaining_ttl = offer.remaining;
  lease.previous_lease_expired = offer.previous_lease_expired;
  lease.offered = true;
  lease.assurance = offer.assurance;
  AnswerWith(waiter, std::move(lease));
}

// No waiter of ours matches this offer: its place could not be left in time, or its client did not
// claim an offer. If the client did not claim an earlier offer, it is slow or dead, and its place
// is set aside until it acquires again. The message may be late and the offer claimed meanwhile: a
// claimed offer is not withdrawn.
void Line::Decline(const Offer& offer) {
  const FencingToken* const told = told_.Find(offer.lease_id, clock_.Now());
  if (draining_ || (told != nullptr && offer.token <= *told)) return;
  withdrawals_.Start(
      {offer.name, offer.lease_id, offer.attempt, offer.keeper, clock_.Now() + kStoreTimeout,
       told != nullptr ? WithdrawScope::kSetAside : WithdrawScope::kUnclaimedOnly},
      clock_.Now() + Withdrawals::kLeaveTriedFor, [](absl::StatusOr<WithdrawResult>) {});
}

void Line::OnWaiterReleased(const std::string& name, const LeaseId& lease_id) {
  expected_.Release(lease_id);
  LocalLine* const line = Find(name);
  if (line == nullptr) return;
  const auto found = line->waiters.find(lease_id);
  if (found != line->waiters.end()) Cancel(**found);
}

// The message may be older than the place, which then still stands.
void Line::Cancel(LineWaiter& waiter) {
  waiter.released = true;
  Leave(waiter);
}

void Line::Claim(LineWaiter& waiter) {
  waiter.state = LineWaiter::State::kClaiming;
  waiter.claim_timer.reset();
  const AcquireRequest& request = waiter.request;
  ExtendRequest claim;
  claim.name = waiter.line->name;
  claim.lease_id = request.lease_id;
  claim.principal = request.principal;
  claim.deadline = clock_.Now() + kStoreTimeout;
  claim.trace = request.trace;
  store_.Extend(claim,
                [this, alive = alive_, name = claim.name, lease_id = request.lease_id,
                 keeper = request.keeper, attempt = request.attempt](absl::StatusOr<Lease> lease) {
                  if (*alive)
                    OnClaimed({name, lease_id, attempt, keeper, {}, {}}, std::move(lease));
                });
}

void Line::OnClaimed(WithdrawRequest undo, absl::StatusOr<Lease> lease) {
  LineWaiter* waiter = Find(undo.keeper);
  if (waiter == nullptr) {
    // Answered meanwhile, because the daemon drains or the lease id was released.
    if (lease.ok() && !draining_) {
      undo.deadline = clock_.Now() + kStoreTimeout;
      withdrawals_.Start(undo, clock_.Now() + lease->remaining_ttl,
                         [](absl::StatusOr<WithdrawResult>) {});
    }
    return;
  }
  if (lease.ok()) return AnswerWith(*waiter, *std::move(lease));
  if (waiter->over) {
    waiter->state = LineWaiter::State::kWaiting;
    return Leave(*waiter);
  }
  if (MayHaveHappened(lease.status())) waiter->may_have_claimed = true;
  if (waiter->may_have_claimed && ReasonOf(lease.status()) != ErrorReason::kLeaseLost) {
    // It may be a lease by now: only the store knows, and asking again does no harm.
    waiter->claim_timer = executor_.After(kClaimPause, [this, undo] {
      if (LineWaiter* again = Find(undo.keeper)) Claim(*again);
    });
    return;
  }
  waiter->state = LineWaiter::State::kWaiting;
  if (draining_) return StartDraining();
  // The offer has lapsed: it goes back to its place. Or the lease that it had claimed is over.
  if (std::exchange(waiter->may_have_claimed, false)) waiter->has_lost_place = true;
  PollIn(*waiter->line, kPollSoon);
}

// Takes the waiter's place back and answers when the store has confirmed it or its time is up.
void Line::Leave(LineWaiter& waiter) {
  using State = LineWaiter::State;
  waiter.over = true;
  if (waiter.state == State::kClaiming || waiter.state == State::kLeaving) return;
  waiter.state = State::kLeaving;
  const AcquireRequest& request = waiter.request;
  withdrawals_.Start(
      {waiter.line->name, request.lease_id, request.attempt, request.keeper,
       clock_.Now() + kStoreTimeout},
      clock_.Now() + Withdrawals::kLeaveTriedFor,
      [this, alive = alive_, keeper = request.keeper](const auto& result) {
        LineWaiter* leaving = *alive ? Find(keeper) : nullptr;
        if (leaving == nullptr) return;
        if (!result.ok() || *result == WithdrawResult::kKept) {
          return Answer(*leaving, Error(ErrorReason::kOutcomeUnknown,
                                        "the wait is over, but the store did not confirm it"));
        }
        Contention contention = result->seen;
        contention.reason =
            leaving->released ? ContentionReason::kCancelled : ContentionReason::kWaitTimedOut;
        if (leaving->released) {
          contention.position = 0;
        } else if (contention.position == 0) {  // Its turn had come, or the line was lost.
          contention.position = *result == WithdrawResult::kWithdrawn ? 1 : leaving->place.position;
          contention.waiters = leaving->line->length;
        }
        Answer(*leaving, AcquireAnswer(std::move(contention)));
      });
}

void Line::AnswerWith(LineWaiter& waiter, Lease lease) {
  lease.waited = std::chrono::duration_cast<Micros>(clock_.Now() - waiter.arrived);
  Answer(waiter, AcquireAnswer(std::move(lease)));
}

void Line::Answer(LineWaiter& waiter, absl::StatusOr<AcquireAnswer> answer) {
  Done<AcquireAnswer> done = std::move(waiter.done);
  const WaitEnd end = waiter.caller_left ? WaitEnd::kCallerLeft : WaitEndOf(answer);
  const Instant arrived = waiter.arrived;
  const Keeper keeper = waiter.request.keeper;
  LocalLine& line = *waiter.line;
  observer_.OnWaitEnded(line.name, keeper, end,
                        std::chrono::duration_cast<Micros>(clock_.Now() - arrived));
  by_keeper_.erase(&waiter);
  line.waiters.erase(line.waiters.find(waiter.request.lease_id));
  if (line.waiters.empty()) {
    polls_due_.Cancel(line);
    lines_.erase(lines_.find(line.name));
  }
  std::move(done)(std::move(answer));
}

void Line::AnswerLater(LineWaiter& waiter, absl::Status error) {
  by_keeper_.erase(&waiter);
  executor_.Post([&observer = observer_, &clock = clock_, caller_left = waiter.caller_left,
                  name = waiter.line->name, keeper = waiter.request.keeper,
                  arrived = waiter.arrived, done = std::move(waiter.done),
                  error = std::move(error)]() mutable {
    const absl::StatusOr<AcquireAnswer> answer = std::move(error);
    observer.OnWaitEnded(name, keeper, caller_left ? WaitEnd::kCallerLeft : WaitEndOf(answer),
                         std::chrono::duration_cast<Micros>(clock.Now() - arrived));
    std::move(done)(answer.status());
  });
}

}  // namespace lockkeeper::core
