// SPDX-License-Identifier: Apache-2.0
//
// The acquires of this daemon that stand in line. The line itself, one for all daemons, is in the
// store; this keeps this daemon's waiters alive in it, takes up offers, and ends each wait with a
// definite answer. docs/concepts/waiting.md tells the story of a wait.
//
// A waiter is
//   waiting    until an offer, the end of its wait, or its release by somebody else;
//   claiming   while the store is asked to turn the offer into a lease, for a client that does not
//              claim by itself; back to waiting if the offer has lapsed;
//   leaving    while its place is taken back; then it is answered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "core/clock.h"
#include "core/executor.h"
#include "core/expiring_map.h"
#include "core/line_waiter.h"
#include "core/lock_store.h"
#include "core/poll_schedule.h"
#include "core/requests.h"
#include "core/withdrawals.h"

namespace lockkeeper::core {

// Completion: every `done` runs exactly once, on the loop's thread; inside Wait if what came
// before it ends the wait. Thread-safety: loop-thread only. Lifetime: borrows its collaborators.
class Line : public LineListener {
 public:
  // Hears of each wait that ends, just before its `done` runs.
  using EndOfWait = std::function<void(const Keeper& keeper, Instant arrived,
                                       const absl::StatusOr<AcquireAnswer>& answer)>;

  Line(LockStore& store, const Clock& clock, Executor& executor, Withdrawals& withdrawals,
       EndOfWait on_end);
  ~Line() override;
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  // How long leaving a line is tried. No ttl ends a place in line; the store forgets one, or its
  // whole line, about a minute after its daemon was last heard of.
  static constexpr Millis kLeaveTriedFor{300'000};

  // An acquire that may have to wait is on its way to the store. Messages come another way, so what
  // one says of it may be here before the store's answer: it is kept until Wait or Forget.
  void Expect(const Keeper& keeper, const LeaseId& lease_id);

  // It does not wait.
  void Forget(const Keeper& keeper) { expected_.erase(keeper); }

  // Takes over an acquire that the store has let stand in line at `place`. `arrived` is when it
  // came; at `wait_end` it ends with WAIT_TIMED_OUT.
  void Wait(AcquireRequest request, const Waiting& place, Instant arrived, Instant wait_end,
            Done<AcquireAnswer> done);

  // The caller of an acquire is gone: it leaves the line, at once or as soon as it stands there.
  // False if none is waiting or expected.
  bool GiveUp(const Keeper& keeper);

  // Ends all waits with SERVER_DRAINING and leaves their places in line for a retry elsewhere,
  // except those that are being left already.
  void StartDraining();

  // What spares the store a look: acquires of this daemon wait for the lock; an offer to this lease
  // id was told to its caller, who may be about to claim it.
  bool HasWaiters(const std::string& name) const { return lines_.contains(name); }
  bool WasOffered(const LeaseId& lease_id) const {
    return told_.Find(lease_id, clock_.Now()) != nullptr;
  }
  // It is told so now, without having waited here.
  void Offered(const LeaseId& lease_id, FencingToken token) {
    told_.Put(lease_id, token, clock_.Now());
  }

  size_t waiting() const { return by_keeper_.size(); }

  void OnOffer(const Offer& offer) override;
  void OnWaiterReleased(const std::string& name, const LeaseId& lease_id) override;

 private:
  static constexpr Millis kStoreTimeout{1'000};

  // An acquire on its way to the store, and what has come for it meanwhile.
  struct Expected {
    LeaseId lease_id;
    std::optional<Offer> offer;
    bool released = false;
    bool abandoned = false;
  };

  void CatchUp(LineWaiter& waiter, const Expected& came);
  void TakeUp(LineWaiter& waiter, const Offer& offer);
  void Cancel(LineWaiter& waiter);
  void Decline(const Offer& offer);
  LocalLine* Find(const std::string& name);
  LineWaiter* Find(const Keeper& keeper);

  void Claim(LineWaiter& waiter);
  void OnClaimed(WithdrawRequest undo, absl::StatusOr<Lease> lease);
  void Leave(LineWaiter& waiter);
  void OnGrantedAgain(LineWaiter& waiter, Lease lease);
  void AnswerWith(LineWaiter& waiter, Lease lease);
  void Answer(LineWaiter& waiter, absl::StatusOr<AcquireAnswer> answer);
  // Takes its `done` out, to run in a later turn with this error.
  void AnswerLater(LineWaiter& waiter, absl::Status error);

  void PollIn(LocalLine& line, Micros delay);
  void PollWhenFree(LocalLine& line, Micros free_in);
  void UnparkSoon(LocalLine& line);
  void Poll(LocalLine& line);
  void OnPolled(const std::string& name, absl::StatusOr<PollAnswer> answer);
  void PollNext(LocalLine& line, const absl::StatusOr<PollAnswer>& answer);
  void StandAgain(LocalLine& line);
  void StandAgain(LineWaiter& waiter);
  void StandAgainAfter(const std::string& name, const LeaseId& lease_id);
  void SayLeaving(const std::string& name);

  LockStore& store_;
  const Clock& clock_;
  Executor& executor_;
  Withdrawals& withdrawals_;
  const EndOfWait on_end_;
  std::unordered_map<std::string, std::unique_ptr<LocalLine>> lines_;
  std::unordered_map<Keeper, Expected, HashOfHexId> expected_;
  // Offers that have been taken up and may yet be claimed: their tokens.
  ExpiringMap<LeaseId, FencingToken, HashOfHexId> told_;
  // Keepers name calls, so each waiter has its own. Thousands of callers may leave at once, and are
  // known by their keepers only.
  std::unordered_set<LineWaiter*, HashOfWaiter, SameWaiter> by_keeper_;
  PollSchedule polls_due_;
  bool draining_ = false;
  uint32_t polls_ = 0;
  // Says to answers that come late that this object is gone.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace lockkeeper::core
