// SPDX-License-Identifier: Apache-2.0
//
// A simulated daemon's connection to the simulated store in memory: the store, as the daemon's
// domain has it.
#pragma once

#include <functional>
#include <string>

#include "core/lock_store.h"
#include "simulation/link.h"
#include "simulation/memory_watch.h"

namespace lockkeeper::simulation {

// Contract: see LockStore. Lifetime: see Link; borrows the store besides.
class MemoryLink final : public core::LockStore, public Link {
 public:
  // `daemon`: its id. `call_lifetime`: a call that takes longer to the store is not executed.
  MemoryLink(MemoryWatch& store, std::string daemon, core::Millis call_lifetime,
             const core::Clock& clock, support::ManualExecutor& world, Process& process,
             support::Random random, MessageOrder* order = nullptr);

  void Acquire(const core::AcquireRequest& request, core::Done<core::AcquireAnswer> done) override;
  void Extend(const core::ExtendRequest& request, core::Done<core::Lease> done) override;
  void Release(const core::ReleaseRequest& request, core::Done<core::ReleaseAnswer> done) override;
  void Confirm(const std::string& name, core::Assurance wanted, core::Instant deadline,
               core::ConfirmDone done) override;
  void Withdraw(const core::WithdrawRequest& request,
                core::Done<core::WithdrawResult> done) override;
  void Fence(const core::FenceRequest& request, core::Done<core::FenceAnswer> done) override;

 private:
  struct Operation;
  template <typename Answer>
  struct Call;

  template <typename Answer>
  void Send(core::Instant deadline, core::Done<Answer> done,
            std::function<absl::StatusOr<Answer>()> execute);
  bool Execute(Request& request) override;
  void OnReply(size_t place, const RequestPtr& request) override;
  void Fail(const RequestPtr& request, const absl::Status& why) override;

  MemoryWatch& store_;
  const std::string daemon_;
  const core::Millis call_lifetime_;
  core::FencingToken seen_;  // The highest token that the daemon was answered.
};

}  // namespace lockkeeper::simulation
