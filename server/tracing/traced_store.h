// SPDX-License-Identifier: Apache-2.0
//
// A store with a span for each operation of a caller that is traced: from the hand-over to the
// store until its answer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/lock_store.h"
#include "core/waiting_line.h"
#include "tracing/tracer.h"

namespace lockkeeper::tracing {

// What the daemon does by itself has no span: polls, confirmations, withdrawals, heartbeats.
//
// Contract: see the two ports. Lifetime: borrows all arguments.
class TracedStore final : public core::LockStore, public core::WaitingLine {
 public:
  // `system`: what spans call the store, such as "redis": a constant.
  TracedStore(core::LockStore& store, core::WaitingLine& line, Tracer& tracer,
              std::string_view system)
      : store_(store), line_(line), tracer_(tracer), system_(system) {}

  void Acquire(const core::AcquireRequest& request, core::Done<core::AcquireAnswer> done) override {
    store_.Acquire(request, Timed(request.trace, "acquire", std::move(done)));
  }
  void Extend(const core::ExtendRequest& request, core::Done<core::Lease> done) override {
    store_.Extend(request, Timed(request.trace, "extend", std::move(done)));
  }
  void Release(const core::ReleaseRequest& request, core::Done<core::ReleaseAnswer> done) override {
    store_.Release(request, Timed(request.trace, "release", std::move(done)));
  }
  void Confirm(const std::string& name, core::Assurance wanted, core::Instant deadline,
               core::ConfirmDone done) override {
    store_.Confirm(name, wanted, deadline, std::move(done));
  }
  void Withdraw(const core::WithdrawRequest& request,
                core::Done<core::WithdrawResult> done) override {
    store_.Withdraw(request, std::move(done));
  }
  void Fence(const core::FenceRequest& request, core::Done<core::FenceAnswer> done) override {
    store_.Fence(request, Timed(request.trace, "fence", std::move(done)));
  }

  void Stand(const core::AcquireRequest& request, int64_t old_number,
             core::Done<core::AcquireOutcome> done) override {
    line_.Stand(request, old_number, Timed(request.trace, "stand", std::move(done)));
  }
  void Poll(const core::PollRequest& request, core::Done<core::PollAnswer> done) override {
    line_.Poll(request, std::move(done));
  }
  void Leave(const std::string& name, core::Instant deadline) override {
    line_.Leave(name, deadline);
  }
  void Listen(core::LineListener& listener) override { line_.Listen(listener); }

 private:
  // `done`, with a span around it if the request is traced. `operation`: a constant.
  template <typename T>
  core::Done<T> Timed(const core::TraceRef& trace, std::string_view operation, core::Done<T> done) {
    if (trace == nullptr) return done;
    return [this, trace, span = Start(trace, operation),
            done = std::move(done)](absl::StatusOr<T> answer) mutable {
      End(trace, std::move(span), answer.status());
      std::move(done)(std::move(answer));
    };
  }
  Span Start(const core::TraceRef& trace, std::string_view operation);
  void End(const core::TraceRef& trace, Span span, const absl::Status& status);

  core::LockStore& store_;
  core::WaitingLine& line_;
  Tracer& tracer_;
  const std::string_view system_;
};

}  // namespace lockkeeper::tracing
