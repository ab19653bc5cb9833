// SPDX-License-Identifier: Apache-2.0
//
// Takes back grants whose caller will not hear of them: the caller is gone, or the store did not
// answer in time. A withdrawal acts only on the grant of this very call. So it may be late or
// repeated without harm to a retry that the client sent elsewhere.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "core/clock.h"
#include "core/executor.h"
#include "core/lock_observer.h"
#include "core/lock_store.h"

namespace lockkeeper::core {

// Thread-safety: loop-thread only. Lifetime: borrows its collaborators.
class Withdrawals {
 public:
  // `call_lifetime`: for how long after it was sent the store may still execute a call.
  Withdrawals(LockStore& store, const Clock& clock, Executor& executor, LockObserver& observer,
              Millis call_lifetime);
  ~Withdrawals();
  Withdrawals(const Withdrawals&) = delete;
  Withdrawals& operator=(const Withdrawals&) = delete;

  // Whether the acquire may still be in flight to the store. Then a withdrawal that found nothing
  // is repeated once, after the time from which on the store does not execute the acquire any more.
  // The void list alone does not keep a late acquire out: on a lock that changes hands often, old
  // entries soon fall out of it.
  enum class Acquire { kDone, kMayBeOnItsWay };

  // Withdraws until the store confirms or `give_up` is reached, the time at which a lease that was
  // granted by now has ended by itself. If the acquire may still be in flight, it may get its lease
  // later, and the withdrawal is tried for so much longer. `first_answer` runs once, on the loop's
  // thread, with what the first try told.
  void Start(WithdrawRequest request, Instant give_up, Done<WithdrawResult> first_answer,
             Acquire acquire = Acquire::kDone);

  // Takes back what the store may have granted to `request`. Answers `withdrawn` if the store
  // confirms that by `deadline`, else `unknown`, and goes on trying.
  void TakeBack(const AcquireRequest& request, Instant deadline,
                absl::StatusOr<AcquireAnswer> withdrawn, absl::Status unknown,
                Done<AcquireAnswer> done, Acquire acquire = Acquire::kDone);

  // The same for an acquire that ended with `error`, which MayHaveHappened.
  void TakeBackUnknown(const AcquireRequest& request, Instant deadline, const absl::Status& error,
                       Done<AcquireAnswer> done);

  // The same for a grant of which the store has confirmed less than `request` asks.
  void TakeBackUnconfirmed(const AcquireRequest& request, Instant deadline,
                           Done<AcquireAnswer> done);

  // How long leaving a line is retried. No ttl ends a place in line; the store forgets the place,
  // or the whole line, about a minute after the last sign of life of its daemon.
  static constexpr Millis kLeaveTriedFor{300'000};

  // Withdrawals that have not ended.
  size_t outstanding() const { return running_.size(); }

 private:
  struct Running;

  void Try(uint64_t id, Instant deadline);
  void OnAnswer(uint64_t id, absl::StatusOr<WithdrawResult> answer);
  void Finish(uint64_t id, WithdrawalEnd end);
  void MakeRoom();

  LockStore& store_;
  const Clock& clock_;
  Executor& executor_;
  LockObserver& observer_;
  const Millis call_lifetime_;
  uint64_t next_id_ = 0;
  std::map<uint64_t, std::unique_ptr<Running>> running_;  // By age.
  // False once this object is gone; late answers check it.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace lockkeeper::core
