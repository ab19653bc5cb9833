// SPDX-License-Identifier: Apache-2.0
//
// The acquires of this daemon that wait in the line of the store, which all daemons share. Keeps
// these waiters alive in the line, claims their offers or passes them on, and ends each wait with a
// definite answer. docs/concepts/waiting.md tells the story of a wait.
//
// A waiter is
//   waiting    until an offer, the end of its wait, or its release by somebody else;
//   confirming while the store has to confirm more of its offer, or of its grant, than its answer
//              did, so that its client may hear of it; back to waiting, at its place, if an offer
//              is not confirmed;
//   claiming   while the store is asked to turn the offer into a lease, for a client that does not
//              claim by itself; back to waiting if the offer has lapsed;
//   leaving    while its place is taken back; then it is answered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/call_deadlines.h"
#include "core/clock.h"
#include "core/executor.h"
#include "core/expected_acquires.h"
#include "core/expiring_map.h"
#include "core/line_waiter.h"
#include "core/lock_observer.h"
#include "core/lock_store.h"
#include "core/poll_schedule.h"
#include "core/requests.h"
#include "core/waiters.h"
#include "core/waiting_line.h"
#include "core/withdrawals.h"

namespace lockkeeper::core {

// Contract: see Waiters. Lifetime: borrows its collaborators.
class Line : public Waiters, public LineListener {
 public:
  // `line` is that of `store`. `request_timeout`: see CallDeadlines.
  Line(LockStore& store, WaitingLine& line, const Clock& clock, Executor& executor,
       Withdrawals& withdrawals, LockObserver& observer, Millis request_timeout);
  ~Line() override;
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  void Acquire(AcquireRequest request, Done<AcquireAnswer> done) override;
  void Release(const ReleaseRequest& request, Done<ReleaseAnswer> done) override {
    store_.Release(request, std::move(done));
  }
  void Abandon(const Keeper& keeper) override;
  // Places in line are kept for a retry at another daemon, except those that are already being
  // left.
  void StartDraining() override;
  size_t waiting() const override { return by_keeper_.size(); }

  void OnOffer(const Offer& offer) override;
  void OnWaiterReleased(const std::string& name, const LeaseId& lease_id) override;

 private:
  static constexpr Millis kStoreTimeout{1'000};
  // The pause before the next poll of a line that has more to do, or whose offer has lapsed.
  static constexpr Millis kPollSoon{1};
  // How long a waiter is passed over whose offers are not confirmed.
  static constexpr Millis kPassedOverFor{2'000};

  void OnTried(AcquireRequest request, Instant arrived, absl::StatusOr<AcquireAnswer> answer,
               Done<AcquireAnswer> done);
  void OnStood(AcquireRequest request, Instant arrived, absl::StatusOr<AcquireOutcome> outcome,
               Done<AcquireAnswer> done);
  void OnOffered(AcquireRequest request, Instant arrived, const Lease& offered,
                 Done<AcquireAnswer> done);
  void Wait(AcquireRequest request, const Waiting& place, Instant arrived,
            Done<AcquireAnswer> done);
  void CatchUp(LineWaiter& waiter, const EarlyNews& news);
  void TakeUp(LineWaiter& waiter, Offer offer);
  static Offer OfferOf(const Lease& offered, const AcquireRequest& request);
  void PassOn(LineWaiter& waiter, const Offer& offer);
  void PutBack(LineWaiter& waiter, const Offer& offer);
  // Lets the store confirm an offer, as far as its waiter's request asks, and passes it on then; if
  // too little is confirmed, calls `otherwise`. Neither if the waiter is leaving by then.
  using IfUnconfirmed = void (Line::*)(LineWaiter& waiter, const Offer& offer);
  void Confirm(LineWaiter& waiter, Offer offer, Micros within, IfUnconfirmed otherwise);
  void Cancel(LineWaiter& waiter);
  void Decline(const Offer& offer);
  LocalLine* Find(const std::string& name);
  LineWaiter* Find(const Keeper& keeper);

  void Claim(LineWaiter& waiter);
  void OnClaimed(WithdrawRequest undo, absl::StatusOr<Lease> lease);
  void Leave(LineWaiter& waiter);
  void OnGrantedAgain(LineWaiter& waiter, Lease lease);
  void TakeBack(LineWaiter& waiter, const Offer& offer);
  void AnswerWith(LineWaiter& waiter, Lease lease);
  void Answer(LineWaiter& waiter, absl::StatusOr<AcquireAnswer> answer);
  // Takes the waiter's `done`, and answers it with this error in a later turn.
  void AnswerLater(LineWaiter& waiter, absl::Status error);
  // Notes an offer that its client may still claim.
  void Offered(const LeaseId& lease_id, FencingToken token) {
    told_.Put(lease_id, token, clock_.Now());
  }

  void PollIn(LocalLine& line, Micros delay);
  void PollWhenFree(LocalLine& line, Micros free_in);
  void Poll(LocalLine& line);
  void OnPolled(const std::string& name, absl::StatusOr<PollAnswer> answer);
  void PollNext(LocalLine& line, const absl::StatusOr<PollAnswer>& answer);
  void StandAgain(LocalLine& line);
  void StandAgain(LineWaiter& waiter);
  void StandAgainLater(LineWaiter& waiter);
  void StandAgainAfter(const std::string& name, const LeaseId& lease_id);

  LockStore& store_;
  WaitingLine& line_;
  const Clock& clock_;
  Executor& executor_;
  Withdrawals& withdrawals_;
  LockObserver& observer_;
  const CallDeadlines deadlines_;
  std::unordered_map<std::string, std::unique_ptr<LocalLine>> lines_;
  ExpectedAcquires<> expected_;
  // The tokens of offers that were passed to their callers, who may still claim them.
  ExpiringMap<LeaseId, FencingToken, HashOfHexId> told_;
  // A keeper names one call, so it names one waiter. Thousands of callers may leave at once, and
  // only their keepers are known.
  std::unordered_set<LineWaiter*, HashOfWaiter, SameWaiter> by_keeper_;
  PollSchedule polls_due_;
  bool draining_ = false;
  uint32_t polls_ = 0;
  // False once this object is gone; late answers check it.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace lockkeeper::core
