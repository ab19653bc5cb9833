// SPDX-License-Identifier: Apache-2.0
//
// The domain on one store, put together: the lock manager and what it stands on.
#pragma once

#include <memory>

#include "core/clock.h"
#include "core/executor.h"
#include "core/line.h"
#include "core/local_fifo.h"
#include "core/lock_manager.h"
#include "core/lock_observer.h"
#include "core/lock_store.h"
#include "core/waiting_line.h"
#include "core/withdrawals.h"

namespace lockkeeper::core {

// Thread-safety: loop-thread only. Lifetime: borrows its collaborators.
class Domain {
 public:
  // `line`: that of the store. Null: it has none, so acquires wait in lines of this daemon.
  Domain(LockStore& store, WaitingLine* line, const Clock& clock, Executor& executor,
         LockObserver& observer, LockManagerOptions options)
      : withdrawals_(store, clock, executor, observer, options.call_lifetime),
        waiters_(line != nullptr ? std::unique_ptr<Waiters>(std::make_unique<Line>(
                                       store, *line, clock, executor, withdrawals_, observer,
                                       options.request_timeout))
                                 : std::make_unique<LocalFifo>(store, clock, executor, withdrawals_,
                                                               observer, options.request_timeout)),
        locks_(store, *waiters_, withdrawals_, clock, executor, observer, options) {}

  LockManager& locks() { return locks_; }

 private:
  Withdrawals withdrawals_;
  std::unique_ptr<Waiters> waiters_;
  LockManager locks_;
};

}  // namespace lockkeeper::core
