// SPDX-License-Identifier: Apache-2.0
//
// How a line keeps its waiters alive in the store, and what it does when the store has lost them.
#include <algorithm>
#include <chrono>
#include <utility>
#include <variant>
#include <vector>

#include "core/errors.h"
#include "core/line.h"

namespace lockkeeper::core {
namespace {

// A lost message costs at most this. The store takes a daemon for dead after three times as long.
constexpr Millis kPollInterval{1000};
// How much of it polls are spread over, so that the lines of a daemon do not all ask at once.
constexpr Millis kPollSpread{200};
// Polls that nothing hurries begin at multiples of this, so that those of many lines share script
// calls: one by one they cost three times as much.
constexpr Micros kPollGrid = Millis(25);
// Behind the end of the holder's lease, so that the store finds it ended.
constexpr Micros kPastLeaseEnd{500};

// The time until the last point of the grid that is at most `delay` away.
Micros ToGrid(Micros delay, Instant now) {
  const auto at = std::chrono::duration_cast<Micros>(now.time_since_epoch()) + delay;
  return std::max(delay - at % kPollGrid, Micros(0));
}

}  // namespace

void Line::PollIn(LocalLine& line, Micros delay) {
  if (draining_) return;  // A poll would say that the daemon lives.
  const Instant at = clock_.Now() + delay;
  if (line.polling || line.poll_at <= at) return;
  polls_due_.Set(line, at);
}

// At the end of the holder's lease, or when it is time again.
void Line::PollWhenFree(LocalLine& line, Micros free_in) {
  PollIn(line, std::min(ToGrid(kPollInterval, clock_.Now()), free_in + kPastLeaseEnd));
}

void Line::Poll(LocalLine& line) {
  line.polling = true;
  line_.Poll(
      {.name = line.name, .line = line.CommonLine(), .deadline = clock_.Now() + kStoreTimeout},
      [this, alive = alive_, name = line.name](absl::StatusOr<PollAnswer> answer) {
        if (*alive) OnPolled(name, std::move(answer));
      });
}

void Line::OnPolled(const std::string& name, absl::StatusOr<PollAnswer> answer) {
  LocalLine* line = Find(name);
  if (line != nullptr) PollNext(*line, answer);
  // Also if nobody waits any more: it may be for a client that has not claimed the offer before.
  if (answer.ok() && answer->offer) OnOffer(*answer->offer);
}

void Line::PollNext(LocalLine& line, const absl::StatusOr<PollAnswer>& answer) {
  line.polling = false;
  const Micros interval = ToGrid(kPollInterval - kPollSpread * (polls_++ % 16) / 16, clock_.Now());
  if (!answer.ok()) return PollIn(line, interval);
  if (answer->lost) {
    StandAgain(line);
    return PollIn(line, interval);
  }
  line.length = answer->waiters;
  if (answer->unfinished) {
    PollIn(line, kPollSoon);
  } else if (answer->free_in > Micros(0)) {
    PollIn(line, std::min(interval, answer->free_in + kPastLeaseEnd));
  } else {
    PollIn(line, interval);
  }
}

// The store has granted or offered the lock to a waiter that stood again. A client that claims by
// itself gets a grant as an offer, too: it would count a lease from its request, long ago.
void Line::OnGrantedAgain(LineWaiter& waiter, Lease lease) {
  Offer offer = OfferOf(lease, waiter.request);
  if (lease.offered) {
    waiter.place = {.number = lease.place.number, .line = lease.place.line};
    return TakeUp(waiter, std::move(offer));
  }
  if (waiter.request.claim == ClaimMode::kByDaemon) return AnswerWith(waiter, std::move(lease));
  if (offer.assurance >= waiter.request.min_assurance) return PassOn(waiter, offer);
  Confirm(waiter, std::move(offer), kStoreTimeout, &Line::TakeBack);
}

// Too little is confirmed of a lease.
void Line::TakeBack(LineWaiter& waiter, const Offer& /*offer*/) {
  waiter.state = LineWaiter::State::kLeaving;
  AcquireRequest request = waiter.request;
  request.name = waiter.line->name;
  withdrawals_.TakeBackUnconfirmed(
      request, clock_.Now() + kStoreTimeout,
      [this, alive = alive_, keeper = request.keeper](absl::StatusOr<AcquireAnswer> answer) {
        LineWaiter* const left = *alive ? Find(keeper) : nullptr;
        if (left != nullptr) Answer(*left, std::move(answer));
      });
}

// The store has lost the line: its waiters stand again, in the order that they had.
void Line::StandAgain(LocalLine& line) {
  std::vector<LineWaiter*> in_order;
  for (const std::unique_ptr<LineWaiter>& waiter : line.waiters) {
    if (waiter->state == LineWaiter::State::kWaiting) in_order.push_back(waiter.get());
  }
  std::sort(in_order.begin(), in_order.end(), [](const LineWaiter* a, const LineWaiter* b) {
    return a->place.number < b->place.number;
  });
  for (LineWaiter* waiter : in_order) StandAgain(*waiter);
}

void Line::StandAgain(LineWaiter& waiter) {
  AcquireRequest request = waiter.request;
  request.name = waiter.line->name;
  request.deadline = clock_.Now() + kStoreTimeout;
  const int64_t old_number = waiter.place.number;
  line_.Stand(request, old_number,
              [this, alive = alive_, name = request.name, lease_id = request.lease_id,
               keeper = request.keeper](const auto& outcome) {
                if (!*alive) return;
                LineWaiter* const standing = Find(keeper);
                if (standing == nullptr) return StandAgainAfter(name, lease_id);
                // If it claims or leaves meanwhile, that answers it.
                if (standing->state != LineWaiter::State::kWaiting) return;
                if (!outcome.ok()) {
                  if (MayHaveHappened(outcome.status()) || absl::IsUnavailable(outcome.status())) {
                    if (standing->put_back) StandAgainLater(*standing);
                    return;
                  }
                  return Answer(*standing, outcome.status());
                }
                standing->has_lost_place = false;
                if (auto* place = std::get_if<Waiting>(&*outcome)) {
                  standing->place = *place;
                  PollIn(*standing->line, place->free_in + kPastLeaseEnd);
                } else if (auto* lease = std::get_if<Lease>(&*outcome)) {
                  OnGrantedAgain(*standing, std::move(*lease));
                } else {
                  Answer(*standing, AcquireAnswer(std::get<Contention>(std::move(*outcome))));
                }
              });
}

// A waiter that is passed over is not offered the lock before it stands again.
void Line::StandAgainLater(LineWaiter& waiter) {
  waiter.stand_timer = executor_.After(kPassedOverFor, [this, keeper = waiter.request.keeper] {
    LineWaiter* const passed_over = Find(keeper);
    const bool waits = passed_over != nullptr && passed_over->state == LineWaiter::State::kWaiting;
    if (waits && !draining_) StandAgain(*passed_over);
  });
}

// A call that was to stand again has ended meanwhile. If another one of its client waits in its
// place, with the same attempt, the store may have taken the older one for the newer.
void Line::StandAgainAfter(const std::string& name, const LeaseId& lease_id) {
  LocalLine* const line = Find(name);
  if (line == nullptr) return;
  const auto later = line->waiters.find(lease_id);
  if (later == line->waiters.end() || (*later)->state != LineWaiter::State::kWaiting) return;
  StandAgain(**later);
}

}  // namespace lockkeeper::core
