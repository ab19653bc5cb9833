// SPDX-License-Identifier: Apache-2.0
#include "simulation/memory_link.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>
#include <variant>

#include "core/errors.h"

namespace lockkeeper::simulation {

struct MemoryLink::Operation : Request {
  virtual void Execute() = 0;
  // Gives the daemon the store's answer, or this error.
  virtual void Answer(const absl::Status& error) = 0;
};

template <typename AnswerType>
struct MemoryLink::Call final : Operation {
  Call(std::function<absl::StatusOr<AnswerType>()> what, core::Done<AnswerType> then)
      : execute(std::move(what)), done(std::move(then)) {}

  void Execute() override { answer = execute(); }
  void Answer(const absl::Status& error) override {
    // The link may remember the call for longer than what waits for it may live.
    core::Done<AnswerType> waiting = std::move(done);
    if (!error.ok()) return std::move(waiting)(error);
    std::move(waiting)(std::move(answer));
  }

  std::function<absl::StatusOr<AnswerType>()> execute;
  core::Done<AnswerType> done;
  absl::StatusOr<AnswerType> answer;
};

MemoryLink::MemoryLink(MemoryWatch& store, std::string daemon, core::Millis call_lifetime,
                       const core::Clock& clock, support::ManualExecutor& world, Process& process,
                       support::Random random, MessageOrder* order)
    : Link(clock, world, process, random, order, 1),
      store_(store),
      daemon_(std::move(daemon)),
      call_lifetime_(call_lifetime) {}

template <typename Answer>
void MemoryLink::Send(core::Instant deadline, core::Done<Answer> done,
                      std::function<absl::StatusOr<Answer>()> execute) {
  auto in_time = [this, latest = clock_.Now() + call_lifetime_,
                  execute = std::move(execute)]() -> absl::StatusOr<Answer> {
    if (clock_.Now() <= latest) return execute();
    return core::Error(core::ErrorReason::kStoreUnavailable, "the call came too late");
  };
  const RequestPtr call = std::make_shared<Call<Answer>>(std::move(in_time), std::move(done));
  Submit(0, call);
  const auto left = std::chrono::duration_cast<core::Micros>(deadline - clock_.Now());
  process_.Later(std::max(left, core::Micros(0)), [this, call] {
    Fail(call, core::Error(core::ErrorReason::kOutcomeUnknown, "no answer in time"));
  });
}

bool MemoryLink::Execute(Request& request) {
  static_cast<Operation&>(request).Execute();
  return true;
}

void MemoryLink::OnReply(size_t /*place*/, const RequestPtr& request) {
  Fail(request, absl::OkStatus());
}

void MemoryLink::Fail(const RequestPtr& request, const absl::Status& why) {
  if (std::exchange(request->finished, true)) return;
  process_.Post([request, why] { static_cast<Operation&>(*request).Answer(why); });
}

void MemoryLink::Acquire(const core::AcquireRequest& request,
                         core::Done<core::AcquireAnswer> done) {
  core::Done<core::AcquireAnswer> note =
      [this, done = std::move(done)](absl::StatusOr<core::AcquireAnswer> answer) mutable {
        const auto* const lease = answer.ok() ? std::get_if<core::Lease>(&*answer) : nullptr;
        if (lease != nullptr) seen_ = std::max(seen_, lease->token);
        std::move(done)(std::move(answer));
      };
  Send<core::AcquireAnswer>(request.deadline, std::move(note),
                            [this, request, seen = seen_, sent = clock_.Now()] {
                              return store_.Acquire(daemon_, request, seen, sent);
                            });
}

void MemoryLink::Extend(const core::ExtendRequest& request, core::Done<core::Lease> done) {
  Send<core::Lease>(request.deadline, std::move(done),
                    [this, request] { return store_.Extend(daemon_, request); });
}

void MemoryLink::Release(const core::ReleaseRequest& request,
                         core::Done<core::ReleaseAnswer> done) {
  Send<core::ReleaseAnswer>(request.deadline, std::move(done),
                            [this, request] { return store_.Release(daemon_, request); });
}

void MemoryLink::Confirm(const std::string& /*name*/, core::Assurance /*wanted*/,
                         core::Instant /*deadline*/, core::ConfirmDone done) {
  process_.Post([done = std::move(done)]() mutable { std::move(done)(core::Assurance::kMemory); });
}

void MemoryLink::Withdraw(const core::WithdrawRequest& request,
                          core::Done<core::WithdrawResult> done) {
  Send<core::WithdrawResult>(request.deadline, std::move(done),
                             [this, request] { return store_.Withdraw(daemon_, request); });
}

void MemoryLink::Fence(const core::FenceRequest& request, core::Done<core::FenceAnswer> done) {
  Send<core::FenceAnswer>(request.deadline, std::move(done),
                          [this, request] { return store_.Fence(daemon_, request); });
}

}  // namespace lockkeeper::simulation
