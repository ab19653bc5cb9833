// SPDX-License-Identifier: Apache-2.0
#include "rpc/watch_reactor.h"

#include <utility>

#include "core/limits.h"
#include "rpc/answer.h"
#include "rpc/status_convert.h"

namespace lockkeeper::rpc {
namespace {

constexpr int kEventsPerPage = 256;

// Between two messages, unless there is more than one page: a message costs as much as dozens of
// events. What happens once in a while is told at once.
constexpr core::Millis kGather{5};

}  // namespace

bool WatchReactor::Page::is_full() const { return message->events_size() >= kEventsPerPage; }

WatchReactor::WatchReactor(const Edge& edge, const grpc::CallbackServerContext& call,
                           const admin::v1::WatchLocksRequest& message)
    : edge_(edge), context_(edge, call) {
  Read(message, operation_);
}

void WatchReactor::Start() {
  const absl::Status status = edge_.gate.Admit(context_.caller(), operation_);
  if (!status.ok()) {
    {
      const std::lock_guard lock(mutex_);
      left_loop_ = true;
      end_ = status;
    }
    return Advance();
  }
  edge_.deps.loop.Post([this] {
    const auto& request = std::get<WatchRequest>(operation_.request);
    auto opened = edge_.deps.watches.Open(request.filter, context_.caller().principal(), *this);
    if (!opened.ok()) OnEnd(opened);
  });
}

bool WatchReactor::MaySee(const core::LockEvent& event) {
  if (event.name.empty()) return true;
  rights_ = context_.caller().Identify(edge_.deps.access);
  if (!rights_.ok()) return false;
  const access::Rights& rights = context_.caller().rights();
  const bool is_one =
      std::get<WatchRequest>(operation_.request).filter.match == core::WatchFilter::Match::kName;
  return rights.Allows(access::Verb::kInspect, event.name) &&
         (is_one || rights.Allows(access::Verb::kList, event.name));
}

void WatchReactor::OnEvent(const core::LockEvent& event) {
  if (!rights_.ok()) return;
  if (!advancing_) turn_ = Now();
  if (MaySee(event)) {
    const std::lock_guard lock(mutex_);
    Add(event);
  }
  AdvanceAtEndOfTurn();
}

void WatchReactor::Add(const core::LockEvent& event) {
  if (dropped_ > 0 || unread_ >= core::limits::kWatchUnreadMax) {
    ++dropped_;
  } else {
    Append(event, turn_);
  }
}

core::WallTime WatchReactor::Now() const { return {absl::ToUnixMicros(edge_.deps.access.Now())}; }

void WatchReactor::Append(const core::LockEvent& event, core::WallTime heard) {
  const bool last_is_in_flight = writing_ && pages_.size() == 1;
  if (pages_.empty() || last_is_in_flight || pages_.back()->is_full()) {
    pages_.push_back(std::make_unique<Page>());
  }
  ++unread_;
  ToProto(event, heard, *pages_.back()->message->add_events());
}

void WatchReactor::OnEnd(const absl::Status& why) {
  edge_.deps.watches.Close(*this);
  {
    const std::lock_guard lock(mutex_);
    if (!end_) end_ = why;
  }
  AdvanceAtEndOfTurn();
}

void WatchReactor::AdvanceAtEndOfTurn() {
  if (std::exchange(advancing_, true)) return;
  edge_.deps.loop.AtEndOfTurn([this] { OnEndOfTurn(); });
}

// From `left_loop_` on another thread may finish the call: what comes next is taken under the same
// lock.
void WatchReactor::OnEndOfTurn() {
  if (!rights_.ok()) edge_.deps.watches.Close(*this);
  std::unique_lock lock(mutex_);
  advancing_ = false;
  if (!rights_.ok() && !end_) end_ = rights_;
  if (end_ && !cancel_posted_) {
    gathered_ = nullptr;
    left_loop_ = true;
  }
  const Step step = TakeStep();
  const bool gathers = !left_loop_ && pages_.size() > (writing_ ? 1U : 0U);
  lock.unlock();
  if (gathers && gathered_ == nullptr) {
    gathered_ = edge_.deps.loop.After(kGather, [this] {
      gathered_ = nullptr;
      AdvanceAtEndOfTurn();
    });
  }
  Do(step);
}

void WatchReactor::OnWriteDone(bool ok) {
  {
    const std::lock_guard lock(mutex_);
    writing_ = false;
    unread_ -= static_cast<size_t>(pages_.front()->message->events_size());
    pages_.pop_front();
    if (pages_.empty() && dropped_ > 0) {
      Append({.kind = core::LockEventKind::kGap,
              .gap = core::GapReason::kSlowWatcher,
              .missed = std::exchange(dropped_, 0)},
             Now());
      may_write_ = core::Instant::min();  // The loop does not know of it.
    }
  }
  if (!ok) OnCancel();
  Advance();
}

// The loop may be about to finish the call, and then this object: nothing may be posted after that.
void WatchReactor::OnCancel() {
  const std::lock_guard lock(mutex_);
  if (left_loop_ || std::exchange(cancel_posted_, true)) return;
  edge_.deps.loop.Post([this] { OnCallerGone(); });
}

void WatchReactor::OnCallerGone() {
  {
    const std::lock_guard lock(mutex_);
    cancel_posted_ = false;
    caller_is_gone_ = true;
  }
  OnEnd(absl::OkStatus());
}

void WatchReactor::Advance() {
  std::unique_lock lock(mutex_);
  const Step step = TakeStep();
  lock.unlock();
  Do(step);
}

WatchReactor::Step WatchReactor::TakeStep() {
  if (writing_ || finished_) return {};
  if (!pages_.empty() && !caller_is_gone_) {
    const core::Instant now = edge_.deps.clock.Now();
    if (!end_ && !pages_.front()->is_full() && now < may_write_) return {};
    may_write_ = now + kGather;
    writing_ = true;
    return {.page = pages_.front()->message};
  }
  finished_ = end_ && left_loop_;
  return finished_ ? Step{.end = end_} : Step{};
}

void WatchReactor::Do(const Step& step) {
  if (step.page != nullptr) return StartWrite(step.page);
  if (step.end) FinishWith(*step.end);
}

// It ends well only when its caller has left.
void WatchReactor::FinishWith(const absl::Status& status) {
  context_.RecordAnswer(Verb::kWatch, SubjectOf(operation_),
                        status.ok() ? telemetry::Outcome::kCancelled : telemetry::Outcome::kError,
                        status);
  Finish(status.ok() ? grpc::Status::CANCELLED : ToGrpcStatus(status));
}

}  // namespace lockkeeper::rpc
