// SPDX-License-Identifier: Apache-2.0
//
// A lock store for tests of the parts above the store: each method passes its request, and the
// callback for the answer, to a function of the test.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/errors.h"
#include "core/executor.h"
#include "core/lock_store.h"
#include "core/waiting_line.h"
#include "support/without_place.h"

namespace lockkeeper::support {

// Thread-safety: set the functions before the loop gets its first request; they run on the
// loop's thread. Unset ones fail the test by an error answer.
class ScriptedStore final : public core::LockStore,
                            public core::WaitingLine,
                            public core::AdminStore {
 public:
  template <typename Request, typename Answer>
  using Script = std::function<void(const Request&, core::Done<Answer>)>;

  explicit ScriptedStore(core::Executor& executor) : executor_(executor) {}

  Script<core::AcquireRequest, core::AcquireOutcome> on_acquire;
  Script<core::ExtendRequest, core::Lease> on_extend;
  Script<core::ReleaseRequest, core::ReleaseAnswer> on_release;
  Script<core::WithdrawRequest, core::WithdrawResult> on_withdraw;
  Script<core::FenceRequest, core::FenceAnswer> on_fence;
  Script<core::PollRequest, core::PollAnswer> on_poll;
  Script<std::string, std::optional<core::LockInfo>> on_get;
  Script<core::ListRequest, core::LockPage> on_list;
  Script<core::ForceReleaseRequest, core::ForceReleaseAnswer> on_force_release;
  Script<core::EndQuarantineRequest, core::EndQuarantineAnswer> on_end_quarantine;
  core::LineListener* listener = nullptr;  // Who hears of offers. On the loop's thread.

  // Answers as a store must: not before the call has returned.
  template <typename Answer>
  void AnswerLater(core::Done<Answer> done, absl::StatusOr<Answer> answer) {
    executor_.Post([done = std::move(done), answer = std::move(answer)]() mutable {
      std::move(done)(std::move(answer));
    });
  }

  void Acquire(const core::AcquireRequest& request, core::Done<core::AcquireAnswer> done) override {
    Play<core::AcquireRequest, core::AcquireOutcome>(on_acquire, request,
                                                     WithoutPlace(std::move(done)));
  }
  void Extend(const core::ExtendRequest& request, core::Done<core::Lease> done) override {
    Play(on_extend, request, std::move(done));
  }
  void Release(const core::ReleaseRequest& request, core::Done<core::ReleaseAnswer> done) override {
    Play(on_release, request, std::move(done));
  }
  void Confirm(const std::string& /*name*/, core::Assurance /*wanted*/, core::Instant /*deadline*/,
               core::ConfirmDone done) override {
    executor_.Post([done = std::move(done)]() mutable { std::move(done)(core::Assurance::kNone); });
  }
  void Withdraw(const core::WithdrawRequest& request,
                core::Done<core::WithdrawResult> done) override {
    Play(on_withdraw, request, std::move(done));
  }
  void Fence(const core::FenceRequest& request, core::Done<core::FenceAnswer> done) override {
    Play(on_fence, request, std::move(done));
  }
  void Poll(const core::PollRequest& request, core::Done<core::PollAnswer> done) override {
    Play(on_poll, request, std::move(done));
  }
  void Stand(const core::AcquireRequest& request, int64_t /*old_number*/,
             core::Done<core::AcquireOutcome> done) override {
    Play(on_acquire, request, std::move(done));
  }
  void Leave(const std::string& /*name*/, core::Instant /*deadline*/) override {}
  void Listen(core::LineListener& to) override { listener = &to; }

  void Get(const std::string& name, core::Instant /*deadline*/,
           core::Done<std::optional<core::LockInfo>> done) override {
    Play(on_get, name, std::move(done));
  }
  void List(const core::ListRequest& request, core::Done<core::LockPage> done) override {
    Play(on_list, request, std::move(done));
  }
  void ForceRelease(const core::ForceReleaseRequest& request,
                    core::Done<core::ForceReleaseAnswer> done) override {
    Play(on_force_release, request, std::move(done));
  }
  void EndQuarantine(const core::EndQuarantineRequest& request,
                     core::Done<core::EndQuarantineAnswer> done) override {
    Play(on_end_quarantine, request, std::move(done));
  }

 private:
  template <typename Request, typename Answer>
  void Play(const Script<Request, Answer>& script, const Request& request,
            core::Done<Answer> done) {
    if (script) return script(request, std::move(done));
    AnswerLater<Answer>(std::move(done), core::Error(core::ErrorReason::kInvariantViolated,
                                                     "the test has no script for this"));
  }

  core::Executor& executor_;
};

}  // namespace lockkeeper::support
