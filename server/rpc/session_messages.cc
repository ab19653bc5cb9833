// SPDX-License-Identifier: Apache-2.0
//
// Handles the messages of a session's client on the thread that reads, and their answers on the
// loop.
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "core/errors.h"
#include "core/limits.h"
#include "core/validation.h"
#include "os/random_bits.h"
#include "rpc/answer.h"
#include "rpc/call_span.h"
#include "rpc/session_log.h"
#include "rpc/session_reactor.h"
#include "rpc/session_refusals.h"

namespace lockkeeper::rpc {
namespace {

using core::limits::kSessionBatchMax;

struct NumberedOperation {
  uint64_t id = 0;  // The client's.
  Operation operation;
};

Verb VerbOf(core::OperationKind kind) {
  switch (kind) {
    case core::OperationKind::kAcquire:
      return Verb::kAcquire;
    case core::OperationKind::kExtend:
      return Verb::kExtend;
    case core::OperationKind::kRelease:
      return Verb::kRelease;
    case core::OperationKind::kFence:
      break;
  }
  return Verb::kFence;
}

// Operations that a session does not have are rejected when they are read.
template <typename Request>
constexpr bool kIsOfSession =
    std::is_constructible_v<decltype(core::SessionOperation::request), Request>;

void Run(core::Session& session, NumberedOperation numbered) {
  std::visit(
      [&session, id = numbered.id]<typename Request>(Request& request) {
        if constexpr (kIsOfSession<Request>) session.Run(id, std::move(request));
      },
      numbered.operation.request);
}

// gRPC closes a connection to new calls at 0.9 to 1.1 of the age. A session moves after that, so
// that its client finds another connection; and not all sessions move at once.
core::Micros MovesAfter(core::Millis age) {
  const core::Micros tenth = core::Micros(age) / 10;
  return 11 * tenth + core::Micros(os::RandomBits() % static_cast<uint64_t>(tenth.count()));
}

}  // namespace

absl::Status SessionReactor::Handle(const v1::SessionRequest& request) {
  using Message = v1::SessionRequest;
  if (request.message_case() == Message::kOpen) return Open(request.open());
  if (!session_) return core::InvalidField("open", "has to be the first message of a session");
  switch (request.message_case()) {
    case Message::kBatch:
      return RunBatch(request.batch());
    case Message::kCancel:
      PostNote([this, id = request.cancel().operation_id()] { session_->Cancel(id); });
      return absl::OkStatus();
    case Message::kAdopt:
      return Adopt(request.adopt());
    case Message::kForget:
      return Forget(request.forget());
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
  if (session_) return core::InvalidField("open", "was sent before");
  Operation operation;
  Read(open, operation);
  const absl::Status status = edge_.gate.Admit(context_.caller(), operation);
  if (!status.ok()) return status;
  hold_ = std::move(operation.holds.session);
  owner_ = open.owner();
  release_on_close_ = open.release_on_close();
  v1::SessionOpened opened;
  opened.set_session_id(context_.caller().RequestId());
  edge_.auditor.Prepare(context_.caller());
  opened.set_max_outstanding_operations(core::limits::kSessionOperationsMax);
  {
    const std::lock_guard lock(mutex_);
    if (!progress_.EnterLoop()) return absl::OkStatus();  // The client left meanwhile.
    session_ = std::make_shared<core::Session>(edge_.deps.locks, edge_.deps.clock,
                                               context_.caller().principal(), *this,
                                               context_.caller().usage());
    progress_.outbox().SetOpened(std::move(opened));
  }
  if (!registry_.Add(*this)) return core::Draining();
  if (edge_.deps.max_connection_age > core::Millis(0)) Post([this] { AskToMoveLater(); });
  Advance();
  return absl::OkStatus();
}

void SessionReactor::AskToMoveLater() {
  move_timer_ = edge_.deps.loop.After(MovesAfter(edge_.deps.max_connection_age), [this] {
    {
      const std::lock_guard lock(mutex_);
      progress_.AskToMove();
    }
    AdvanceAtEndOfTurn();
  });
}

// Reserves places for the answers of the batch's first operations. Operations for which no place is
// left are refused.
absl::Status SessionReactor::TakePlaces(const v1::SessionBatch& batch, int& taken) {
  const std::lock_guard lock(mutex_);
  if (progress_.closing()) return core::InvalidField("batch", "comes after close");
  SessionOutbox& outbox = progress_.outbox();
  const bool full = progress_.Crowded() && outbox.kept() > kSessionBatchMax;
  while (!full && taken < batch.operations_size() && outbox.TakePlace()) ++taken;
  for (int i = taken; i < batch.operations_size(); ++i) {
    v1::SessionResult* refusal = outbox.AddRefusal();
    if (refusal == nullptr) {
      cut_off_ = true;
      return TooManyUnread();
    }
    refusal->set_operation_id(batch.operations(i).id());
    ToProto(OverLimit(), *refusal->mutable_error());
  }
  return absl::OkStatus();
}

absl::Status SessionReactor::RunBatch(const v1::SessionBatch& batch) {
  if (batch.operations_size() == 0 || batch.operations_size() > kSessionBatchMax) {
    return core::InvalidField("batch.operations",
                              "has to have 1 to " + std::to_string(kSessionBatchMax) +
                                  " operations, has " + std::to_string(batch.operations_size()));
  }
  int taken = 0;
  if (absl::Status status = TakePlaces(batch, taken); !status.ok()) return status;
  // Without the mutex, which the loop needs for each answer.
  std::vector<NumberedOperation> operations;
  operations.reserve(static_cast<size_t>(taken));
  bool answered = taken < batch.operations_size();
  for (int i = 0; i < taken; ++i) {
    const v1::SessionOperation& message = batch.operations(i);
    operations.emplace_back().id = message.id();
    Operation& operation = operations.back().operation;
    if (const absl::Status status = Admit(message, operation); !status.ok()) {
      Reject(message, operation, status);
      operations.pop_back();
      answered = true;
    }
  }
  if (!operations.empty()) {
    Post([this, operations = std::move(operations)]() mutable {
      for (NumberedOperation& operation : operations) {
        KeepHolds(operation.operation);
        edge_.fair_share.Run(context_.caller().principal(),
                             [this, operation = std::move(operation)]() mutable {
                               Run(*session_, std::move(operation));
                             });
      }
    });
  }
  if (answered) Advance();
  return absl::OkStatus();
}

absl::Status SessionReactor::Admit(const v1::SessionOperation& message, Operation& operation) {
  Read(message, operation);
  BeginTrace(edge_.deps.tracer, message, operation);
  auto* const acquire = std::get_if<core::AcquireRequest>(&operation.request);
  if (acquire != nullptr && acquire->owner.empty()) acquire->owner = owner_;
  return edge_.gate.Admit(context_.caller(), operation);
}

void SessionReactor::Reject(const v1::SessionOperation& message, const Operation& operation,
                            const absl::Status& why) {
  if (message.operation_case() != v1::SessionOperation::OPERATION_NOT_SET) {
    edge_.recorder.Record(operation.verb(), context_.caller(), SubjectOf(operation),
                          telemetry::Outcome::kError, why, core::Micros(0), TraceOf(operation));
  }
  const std::lock_guard lock(mutex_);
  v1::SessionResult& result = progress_.outbox().AddResult();
  result.set_operation_id(message.id());
  ToProto(why, *result.mutable_error());
}

absl::Status SessionReactor::Adopt(const v1::SessionAdopt& adopt) {
  Operation operation;
  Read(adopt, operation);
  const absl::Status status = edge_.gate.Admit(context_.caller(), operation);
  {
    const std::lock_guard lock(mutex_);
    if (!progress_.outbox().TakePlace()) return OverLimit();
  }
  v1::SessionAdoptResult result;
  result.set_name(adopt.name());
  result.set_lease_id(adopt.lease_id());
  if (!status.ok()) {
    edge_.recorder.NoteDefect(status);
    ToProto(status, *result.mutable_error());
    OnAdopted(std::move(result));
    Advance();
    return absl::OkStatus();
  }
  auto& request = std::get<core::ExtendRequest>(operation.request);
  request.keeper = edge_.gate.NewHolder();
  PostInTurn([this, request = std::move(request), result = std::move(result)]() mutable {
    session_->Adopt(std::move(request),
                    [this, result = std::move(result)](absl::StatusOr<core::Lease> lease) mutable {
                      Subject subject{.lock_name = result.name()};
                      subject.Add(lease.ok() ? &*lease : nullptr);
                      Audit(Verb::kExtend, subject, lease.status());
                      if (lease.ok()) {
                        ToProto(*lease, *result.mutable_lease());
                      } else {
                        ToProto(lease.status(), *result.mutable_error());
                      }
                      OnAdopted(std::move(result));
                      AdvanceAtEndOfTurn();
                    });
  });
  return absl::OkStatus();
}

absl::Status SessionReactor::Forget(const v1::SessionForget& forget) {
  if (auto status = core::ValidateName("forget.name", forget.name()); !status.ok()) return status;
  const std::optional<core::LeaseId> lease_id = core::LeaseId::Parse(forget.lease_id());
  if (!lease_id) return core::InvalidField("forget.lease_id", "is no lease id");
  PostNote(
      [this, name = forget.name(), lease_id = *lease_id] { session_->Forget(name, lease_id); });
  return absl::OkStatus();
}

void SessionReactor::Heartbeat(uint64_t number) {
  {
    const std::lock_guard lock(mutex_);
    if (!progress_.StartBeat(number)) return;
  }
  Post([this] { Beat(); });
}

void SessionReactor::Close() {
  {
    const std::lock_guard lock(mutex_);
    if (!progress_.Close()) return;
  }
  PostInTurn([this] { session_->LeaveLines(); });
}

void SessionReactor::OnAnswer(const core::AnsweredOperation& operation,
                              absl::StatusOr<core::SessionAnswer> answer) {
  const core::Lease* lease = LeaseIn(answer);
  Record(operation, lease, answer);
  {
    const std::lock_guard lock(mutex_);
    CountLeases(session_->leases());
    if (operation.keeper) holds_.erase(*operation.keeper);
    if (lease != nullptr && lease->offered) {
      v1::SessionOffer& offer = progress_.outbox().AddOffer();
      offer.set_operation_id(operation.id);
      ToProto(*lease, *offer.mutable_lease());
    } else {
      v1::SessionResult& result = progress_.outbox().AddResult();
      result.set_operation_id(operation.id);
      ToProto(answer, result);
    }
  }
  AdvanceAtEndOfTurn();
}

void SessionReactor::Record(const core::AnsweredOperation& operation, const core::Lease* lease,
                            const absl::StatusOr<core::SessionAnswer>& answer) {
  Subject subject{.lock_name = operation.name,
                  .owner = operation.owner.empty() ? owner_ : operation.owner,
                  .lease_id = operation.lease_id,
                  .token = operation.token};
  subject.Add(lease);
  const auto* const release = answer.ok() ? std::get_if<core::ReleaseAnswer>(&*answer) : nullptr;
  if (release != nullptr) subject.Add(*release);
  edge_.recorder.Record(
      VerbOf(operation.kind), context_.caller(), subject, OutcomeOf(answer), answer.status(),
      std::chrono::duration_cast<core::Micros>(edge_.recorder.Now() - operation.arrived),
      operation.trace);
}

// On the thread that reads, if the message was wrong.
void SessionReactor::OnAdopted(v1::SessionAdoptResult result) {
  LogAdoption(edge_.deps.logger, context_.caller(), owner_, result);
  const std::lock_guard lock(mutex_);
  progress_.outbox().AddAdoptResult() = std::move(result);
}

void SessionReactor::OnKeptReleased(std::string_view lock_name, core::FencingToken token) {
  Audit(Verb::kRelease, {.lock_name = lock_name, .token = token}, absl::OkStatus());
}

void SessionReactor::Audit(Verb verb, Subject subject, const absl::Status& status) {
  edge_.recorder.NoteDefect(status);
  subject.owner = owner_;
  const auto outcome = status.ok() ? telemetry::Outcome::kDone : OutcomeOf(status);
  edge_.auditor.Answered(verb, context_.caller(), subject, outcome, status);
}

void SessionReactor::Beat() {
  const core::Instant began = edge_.deps.clock.Now();
  session_->Heartbeat([this, began](absl::StatusOr<core::HeartbeatAnswer> answer) {
    heartbeat_times_.Observe(
        std::chrono::duration_cast<core::Micros>(edge_.deps.clock.Now() - began));
    for (const core::NotExtended& failed : answer->not_extended) {
      if (failed.reason == core::ErrorReason::kLeaseLost) leases_lost_.Increment();
      Audit(Verb::kExtend, {.lock_name = failed.name, .token = failed.token},
            core::Error(failed.reason, "a heartbeat did not extend the lease"));
    }
    v1::SessionHeartbeatResult result = ToProto(*std::move(answer));
    bool again = false;
    {
      const std::lock_guard lock(mutex_);
      again = progress_.FinishBeat(std::move(result));
    }
    if (again) Post([this] { Beat(); });
    AdvanceAtEndOfTurn();
  });
}

void SessionReactor::ReleaseAll() {
  if (!release_on_close_) return OnReleased(0);
  session_->ReleaseAll([this](absl::StatusOr<int32_t> released) {
    LogReleaseAtClose(edge_.deps.logger, context_.caller(), owner_, *released);
    OnReleased(*released);
    AdvanceAtEndOfTurn();
  });
}

void SessionReactor::OnReleased(int32_t released) {
  const std::lock_guard lock(mutex_);
  progress_.Closed(released);
}

void SessionReactor::KeepHolds(Operation& operation) {
  Holds& holds = operation.holds;
  if (!holds.waiter && !holds.lease) return;
  holds_.emplace(std::get<core::AcquireRequest>(operation.request).keeper, std::move(holds));
}

void SessionReactor::CountLeases(size_t leases) {
  const size_t before = progress_.leases();
  progress_.SetLeases(leases);
  if (leases == before) return;
  const auto change = static_cast<int64_t>(leases) - static_cast<int64_t>(before);
  leases_of_all_.Add(static_cast<double>(change));
}

}  // namespace lockkeeper::rpc
