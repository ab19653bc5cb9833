// SPDX-License-Identifier: Apache-2.0
#include "rpc/session_reactor.h"

#include <chrono>
#include <utility>

#include "core/errors.h"
#include "core/limits.h"
#include "core/validation.h"
#include "rpc/convert.h"
#include "rpc/convert_duration.h"
#include "rpc/session_log.h"
#include "rpc/session_operation.h"
#include "rpc/session_refusals.h"
#include "rpc/status_convert.h"

namespace lockkeeper::rpc {
namespace {

using core::limits::kOperationsOfSessionsMax;
using core::limits::kSessionBatchMax;

}  // namespace

SessionReactor::SessionReactor(const SessionKinds& kinds, const ServiceDeps& deps,
                               KeeperSource& keepers, SessionRegistry& registry,
                               grpc::CallbackServerContext& context)
    : kinds_(kinds),
      deps_(deps),
      keepers_(keepers),
      registry_(registry),
      call_(context),
      context_(kinds.session, context),
      request_(google::protobuf::Arena::CreateMessage<v1::SessionRequest>(&request_arena_)) {
  StartRead(request_);
}

SessionReactor::~SessionReactor() {
  registry_.AddKept(-kept_);
  registry_.Remove(*this);
}

void SessionReactor::OnReadDone(bool ok) {
  if (!ok) {
    {
      const std::lock_guard lock(mutex_);
      half_closed_ = true;
    }
    return Advance();
  }
  const absl::Status status = Handle(*request_);
  if (!status.ok()) return cut_off_ ? CutOff(status) : End({.status = status});
  request_arena_.Reset();
  request_ = google::protobuf::Arena::CreateMessage<v1::SessionRequest>(&request_arena_);
  StartRead(request_);
}

absl::Status SessionReactor::Handle(const v1::SessionRequest& request) {
  using Message = v1::SessionRequest;
  if (request.message_case() == Message::kOpen) return Open(request.open());
  if (part_ == nullptr)
    return core::InvalidField("open", "has to be the first message of a session");
  switch (request.message_case()) {
    case Message::kBatch:
      return RunBatch(request.batch());
    case Message::kCancel:
      part_->Cancel(request.cancel().operation_id());
      return absl::OkStatus();
    case Message::kAdopt:
      return Adopt(request.adopt());
    case Message::kHeartbeat:
      Heartbeat(request.heartbeat().number());
      return absl::OkStatus();
    case Message::kClose:
      Close();
      return absl::OkStatus();
    case Message::kOpen:
    case Message::MESSAGE_NOT_SET:
      break;
  }
  return core::InvalidField("message", "is not set, or is newer than this server");
}

absl::Status SessionReactor::Open(const v1::SessionOpen& open) {
  if (part_ != nullptr) return core::InvalidField("open", "was sent before");
  if (absl::Status status = context_.Admission(); !status.ok()) return status;
  if (absl::Status status =
          core::ValidateText("open.owner", open.owner(), core::limits::kOwnerBytesMax);
      !status.ok()) {
    return status;
  }
  owner_ = open.owner();
  release_on_close_ = open.release_on_close();
  auto part = std::make_shared<SessionPart>(*this, deps_, context_.principal());
  v1::SessionOpened opened;
  opened.set_session_id(context_.RequestId());
  opened.set_max_outstanding_operations(core::limits::kSessionOperationsMax);
  {
    const std::lock_guard lock(mutex_);
    if (end_) return absl::OkStatus();  // The client left meanwhile: nobody would break the part.
    part_ = std::move(part);
    part_is_alive_ = true;
    outbox_.SetOpened(std::move(opened));
  }
  if (!registry_.Add(*this)) return Draining();
  Advance();
  return absl::OkStatus();
}

absl::Status SessionReactor::RunBatch(const v1::SessionBatch& batch) {
  if (batch.operations_size() == 0 || batch.operations_size() > kSessionBatchMax) {
    return core::InvalidField("batch.operations",
                              "has to have 1 to " + std::to_string(kSessionBatchMax) +
                                  " operations, has " + std::to_string(batch.operations_size()));
  }
  int taken = 0;
  {
    const std::lock_guard lock(mutex_);
    if (closing_ != Closing::kNo) return core::InvalidField("batch", "comes after close");
    const bool full = Crowded() && outbox_.kept() > kSessionBatchMax;
    while (!full && taken < batch.operations_size() && outbox_.TakePlace()) ++taken;
    for (int i = taken; i < batch.operations_size(); ++i) {
      v1::SessionResult* refusal = outbox_.AddRefusal();
      if (refusal == nullptr) {
        cut_off_ = true;
        return TooManyUnread();
      }
      refusal->set_operation_id(batch.operations(i).id());
      ToProto(OverLimit(), *refusal->mutable_error());
    }
  }
  // Without the mutex, which the loop needs for each answer.
  const SessionFacts facts{deps_.limits, keepers_, context_.principal(), owner_};
  std::vector<core::SessionOperation> operations;
  bool answered = taken < batch.operations_size();
  for (int i = 0; i < taken; ++i) {
    core::SessionOperation operation;
    const absl::Status status = ToCore(batch.operations(i), facts, operation);
    if (status.ok()) {
      operations.push_back(std::move(operation));
      continue;
    }
    const std::lock_guard lock(mutex_);
    v1::SessionResult& result = outbox_.AddResult();
    result.set_operation_id(batch.operations(i).id());
    ToProto(status, *result.mutable_error());
    answered = true;
  }
  if (!operations.empty()) part_->Run(std::move(operations));
  if (answered) Advance();
  return absl::OkStatus();
}

absl::Status SessionReactor::Adopt(const v1::SessionAdopt& adopt) {
  core::ExtendRequest request;
  absl::Status status =
      ToCore(adopt, {deps_.limits, keepers_, context_.principal(), owner_}, request);
  {
    const std::lock_guard lock(mutex_);
    if (!outbox_.TakePlace()) return OverLimit();
  }
  v1::SessionAdoptResult result;
  result.set_name(adopt.name());
  result.set_lease_id(adopt.lease_id());
  if (status.ok()) {
    part_->Adopt(std::move(request), std::move(result));
    return status;
  }
  ToProto(status, *result.mutable_error());
  OnAdopted(std::move(result));
  Advance();
  return absl::OkStatus();
}

void SessionReactor::OnAdopted(v1::SessionAdoptResult result) {
  LogAdoption(context_, owner_, result);
  const std::lock_guard lock(mutex_);
  outbox_.AddAdoptResult() = std::move(result);
}

void SessionReactor::Heartbeat(uint64_t number) {
  {
    const std::lock_guard lock(mutex_);
    if (beat_) {
      next_beat_ = number;
      return;
    }
    beat_ = number;
  }
  part_->Heartbeat();
}

void SessionReactor::OnBeat(core::HeartbeatAnswer answer) {
  v1::SessionHeartbeatResult result = ToProto(std::move(answer));
  bool again = false;
  {
    const std::lock_guard lock(mutex_);
    result.set_number(*beat_);
    outbox_.AddHeartbeatResult(std::move(result));
    beat_ = std::exchange(next_beat_, std::nullopt);
    again = beat_.has_value();
  }
  if (again) part_->Heartbeat();
}

void SessionReactor::Close() {
  {
    const std::lock_guard lock(mutex_);
    if (closing_ != Closing::kNo) return;
    closing_ = Closing::kWaiting;
  }
  part_->LeaveLines();
}

void SessionReactor::OnEnded(int32_t released) {
  const std::lock_guard lock(mutex_);
  closing_ = Closing::kDone;
  v1::SessionClosed closed;
  closed.set_released(released);
  outbox_.SetClosed(std::move(closed));
  if (release_on_close_) LogReleaseAtClose(context_, owner_, released);
}

void SessionReactor::OnAnswer(const core::AnsweredOperation& operation,
                              absl::StatusOr<core::SessionAnswer> answer) {
  Record(operation, answer);
  const core::Lease* offer = LeaseIn(answer);
  const std::lock_guard lock(mutex_);
  if (offer != nullptr && offer->offered) {
    v1::SessionOffer& message = outbox_.AddOffer();
    message.set_operation_id(operation.id);
    ToProto(*offer, *message.mutable_lease());
    return;
  }
  v1::SessionResult& result = outbox_.AddResult();
  result.set_operation_id(operation.id);
  ToProto(answer, result);
}

void SessionReactor::Record(const core::AnsweredOperation& operation,
                            const absl::StatusOr<core::SessionAnswer>& answer) {
  const RpcKind& kind = kinds_.Of(operation.kind);
  const telemetry::Outcome outcome = OutcomeOf(answer);
  const auto elapsed =
      std::chrono::duration_cast<core::Micros>(kind.recorder.Now() - operation.arrived);
  kind.metrics.Record(outcome, telemetry::CodeOf(outcome, answer.status()), elapsed);
  if (answer.ok() && !kind.recorder.logger().Enabled(telemetry::LogLevel::kDebug)) return;
  const core::Lease* lease = LeaseIn(answer);
  const std::string peer = context_.Peer();
  kind.recorder.log().Write({.request_id = context_.RequestId(),
                             .rpc = kind.name,
                             .peer = peer,
                             .owner_id = operation.owner.empty() ? owner_ : operation.owner,
                             .lock_name = operation.name,
                             .lease_id = operation.lease_id,
                             .token = lease != nullptr ? lease->token : core::FencingToken{},
                             .waited = lease != nullptr ? lease->waited : core::Micros{},
                             .outcome = outcome,
                             .status = answer.status(),
                             .elapsed = elapsed});
}

bool SessionReactor::Idle() const { return outbox_.unanswered() == 0 && !beat_; }

void SessionReactor::OnWriteDone(bool ok) {
  {
    const std::lock_guard lock(mutex_);
    writing_ = false;
    outbox_.Sent();
  }
  // If it failed the stream is gone, which OnCancel tells.
  if (ok) Advance();
  if (!ok) End(Ending{.cancelled = true});
}

void SessionReactor::OnCancel() { End(Ending{.cancelled = true}); }

void SessionReactor::OnDraining(core::Millis remaining) {
  v1::SessionDraining message;
  ToProto(core::Micros(remaining), *message.mutable_remaining());
  {
    const std::lock_guard lock(mutex_);
    draining_ = true;
    outbox_.SetDraining(std::move(message));
  }
  part_->Nudge();
}

bool SessionReactor::Drained() const { return draining_ && part_->leases() == 0 && Idle(); }

void SessionReactor::End(Ending end) {
  {
    const std::lock_guard lock(mutex_);
    if (!end_) {
      end_ = std::move(end);
      if (part_ != nullptr) part_->Break();
    }
  }
  Advance();
}

void SessionReactor::CutOff(const absl::Status& status) {
  End({.status = status});
  call_.TryCancel();  // A status would wait behind what is not read.
}

void SessionReactor::OnBroken() {
  std::optional<Ending> finish;
  {
    const std::lock_guard lock(mutex_);
    part_is_alive_ = false;
    finish = TakeFinish();
  }
  // Unless this is to finish the session, another thread may have done so: this object is gone.
  if (finish) FinishWith(*finish);
}

std::optional<SessionReactor::Ending> SessionReactor::TakeFinish() {
  if (!end_ || part_is_alive_ || writing_ || finished_) return std::nullopt;
  finished_ = true;
  return end_;
}

// Each session is bounded, but there may be many.
bool SessionReactor::Crowded() {
  const int64_t kept = outbox_.kept();
  return registry_.AddKept(kept - std::exchange(kept_, kept)) > kOperationsOfSessionsMax;
}

void SessionReactor::Advance() {
  bool release = false;
  bool cut_off = false;
  bool done = false;
  const v1::SessionResponse* message = nullptr;
  std::optional<Ending> finish;
  absl::Status good_end;
  {
    const std::lock_guard lock(mutex_);
    if (!end_) {
      if (closing_ == Closing::kWaiting && Idle()) {
        closing_ = Closing::kReleasing;
        release = true;
      }
      if (!writing_) message = outbox_.Next();
      if (message != nullptr) writing_ = true;
      cut_off = Crowded() && message == nullptr && outbox_.unread() > kSessionBatchMax;
      const bool no_more =
          closing_ == Closing::kDone || (half_closed_ && closing_ == Closing::kNo && Idle());
      if (!no_more && Drained()) good_end = Draining();
      done = (no_more || !good_end.ok()) && outbox_.empty();
    } else {
      finish = TakeFinish();
    }
  }
  if (release) part_->End(release_on_close_);
  // One of these at most, and the last thing done: it may bring the end of this object about.
  if (cut_off) {
    CutOff(TooManyUnread());
  } else if (message != nullptr) {
    StartWrite(message);
  } else if (done) {
    End({.status = good_end});
  } else if (finish) {
    FinishWith(*finish);
  }
}

void SessionReactor::FinishWith(const Ending& end) {
  const auto outcome = end.cancelled     ? telemetry::Outcome::kCancelled
                       : end.status.ok() ? telemetry::Outcome::kDone
                                         : telemetry::Outcome::kError;
  context_.RecordAnswer(outcome, end.status, {.owner = owner_});
  Finish(end.cancelled ? grpc::Status::CANCELLED : ToGrpcStatus(end.status));
}

}  // namespace lockkeeper::rpc
