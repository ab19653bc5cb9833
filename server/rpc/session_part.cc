// SPDX-License-Identifier: Apache-2.0
#include "rpc/session_part.h"

#include "rpc/convert.h"
#include "rpc/session_operation.h"

namespace lockkeeper::rpc {

template <typename Task>
void SessionPart::Post(Task task) {
  executor_.Post([self = shared_from_this(), task = std::move(task)]() mutable {
    if (self->stream_ == nullptr) return;
    std::move(task)();
    self->AdvanceSoon();
  });
}

void SessionPart::SetLeases(size_t leases) {
  const size_t before = leases_.exchange(leases);
  if (leases != before)
    leases_gauge_.Add(static_cast<double>(leases) - static_cast<double>(before));
}

void SessionPart::AdvanceSoon() {
  if (stream_ == nullptr || std::exchange(advancing_, true)) return;
  executor_.AtEndOfTurn([self = shared_from_this()] {
    self->advancing_ = false;
    if (self->stream_ == nullptr) return;
    self->SetLeases(self->session_->leases());
    self->stream_->Advance();
  });
}

void SessionPart::Run(std::vector<core::SessionOperation> operations) {
  Post([this, operations = std::move(operations)]() mutable {
    for (core::SessionOperation& operation : operations) session_->Run(std::move(operation));
  });
}

void SessionPart::OnAnswer(const core::AnsweredOperation& operation,
                           absl::StatusOr<core::SessionAnswer> answer) {
  SetLeases(session_->leases());
  stream_->OnAnswer(operation, std::move(answer));
  AdvanceSoon();
}

void SessionPart::Cancel(uint64_t operation_id) {
  Post([this, operation_id] { session_->Cancel(operation_id); });
}

void SessionPart::Adopt(core::ExtendRequest request, v1::SessionAdoptResult result) {
  Post([this, request = std::move(request), result = std::move(result)]() mutable {
    session_->Adopt(std::move(request),
                    [this, result = std::move(result)](absl::StatusOr<core::Lease> lease) mutable {
                      if (lease.ok()) {
                        ToProto(*lease, *result.mutable_lease());
                      } else {
                        ToProto(lease.status(), *result.mutable_error());
                      }
                      stream_->OnAdopted(std::move(result));
                      AdvanceSoon();
                    });
  });
}

void SessionPart::Heartbeat() {
  Post([this] {
    session_->Heartbeat([this](absl::StatusOr<core::HeartbeatAnswer> answer) {
      stream_->OnBeat(*std::move(answer));
      AdvanceSoon();
    });
  });
}

void SessionPart::LeaveLines() {
  Post([this] { session_->LeaveLines(); });
}

void SessionPart::End(bool release_leases) {
  Post([this, release_leases] {
    if (!release_leases) return stream_->OnEnded(0);
    session_->ReleaseAll([this](absl::StatusOr<int32_t> released) {
      stream_->OnEnded(*released);
      AdvanceSoon();
    });
  });
}

void SessionPart::Nudge() {
  Post([] {});
}

void SessionPart::Break() {
  Post([this] {
    session_->Break();
    SetLeases(0);
    std::exchange(stream_, nullptr)->OnBroken();
  });
}

}  // namespace lockkeeper::rpc
