// SPDX-License-Identifier: Apache-2.0
#include "rpc/audit.h"

#include <chrono>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "core/limits.h"
#include "rpc/answer.h"
#include "telemetry/log_fields.h"

namespace lockkeeper::rpc {
namespace {

namespace field = telemetry::field;

// Who asked for what, and the fields of `more`. A rejected request may have texts of any length.
class Fields {
 public:
  Fields(Caller& caller, const ForceReleaseRequest& request,
         std::initializer_list<telemetry::LogField> more)
      : peer_(caller.Peer()),
        fields_{field::RequestId(caller.RequestId()), field::Peer(peer_),
                field::OwnerId(Bounded(request.owner, core::limits::kOwnerBytesMax)),
                field::LockName(Bounded(request.name, core::limits::kNameBytesMax)),
                field::AuditReason(Bounded(request.reason, core::limits::kReasonBytesMax))} {
    fields_.insert(fields_.end(), more);
  }

  Fields(Caller& caller, const EndQuarantineRequest& request,
         std::initializer_list<telemetry::LogField> more)
      : peer_(caller.Peer()),
        fields_{field::RequestId(caller.RequestId()), field::Peer(peer_),
                field::OwnerId(Bounded(request.owner, core::limits::kOwnerBytesMax)),
                field::Epoch(request.epoch),
                field::AuditReason(Bounded(request.reason, core::limits::kReasonBytesMax))} {
    fields_.insert(fields_.end(), more);
  }

  telemetry::LogFields all() const { return fields_; }

 private:
  static std::string_view Bounded(std::string_view text, size_t bytes_max) {
    return text.substr(0, bytes_max);
  }

  const std::string peer_;
  std::vector<telemetry::LogField> fields_;
};

}  // namespace

void AuditRejected(const telemetry::Logger& logger, Caller& caller,
                   const ForceReleaseRequest& request, const absl::Status& why) {
  const std::string problem(why.message());
  const Fields fields(caller, request, {field::Problem(problem)});
  logger.Warn("audit.force_release_rejected",
              "An administrator's request to end a lease was rejected, nothing was changed",
              fields.all());
}

void AuditAnswered(const telemetry::Logger& logger, Caller& caller,
                   const ForceReleaseRequest& request,
                   const absl::StatusOr<core::ForceReleaseAnswer>& answer) {
  if (!answer.ok()) {
    const std::string problem(answer.status().message());
    const Fields fields(caller, request, {field::Problem(problem)});
    return logger.Warn("audit.force_release_failed",
                       "An administrator could not end a lease, or it is unknown whether",
                       fields.all());
  }
  const auto outcome = field::Outcome(telemetry::NameOf(OutcomeOf(*answer)));
  if (!answer->released) {
    const Fields fields(
        caller, request,
        {field::FencingToken(answer->token), field::ClosedFor(answer->closed_for), outcome});
    return logger.Info("audit.force_release_found_none",
                       "An administrator wanted to end a lease, and none was live", fields.all());
  }
  const Fields fields(caller, request,
                      {field::HolderOwner(answer->holder_owner), field::FencingToken(answer->token),
                       field::ClosedFor(answer->closed_for), outcome});
  logger.Info("audit.force_release", "An administrator ended a lease, or opened a closed lock",
              fields.all());
}

void AuditRejected(const telemetry::Logger& logger, Caller& caller,
                   const EndQuarantineRequest& request, const absl::Status& why) {
  const std::string problem(why.message());
  const Fields fields(caller, request, {field::Problem(problem)});
  logger.Warn("audit.end_quarantine_rejected",
              "An administrator's request to end a quarantine was rejected, nothing was changed",
              fields.all());
}

void AuditAnswered(const telemetry::Logger& logger, Caller& caller,
                   const EndQuarantineRequest& request,
                   const absl::StatusOr<core::EndQuarantineAnswer>& answer) {
  if (!answer.ok()) {
    const std::string problem(answer.status().message());
    const Fields fields(caller, request, {field::Problem(problem)});
    return logger.Warn("audit.end_quarantine_failed",
                       "An administrator could not end a quarantine, or it is unknown whether",
                       fields.all());
  }
  const Fields fields(caller, request,
                      {field::Quarantine(std::chrono::ceil<core::Millis>(answer->left)),
                       field::Outcome(telemetry::NameOf(OutcomeOf(*answer)))});
  if (!answer->ended) {
    return logger.Info("audit.end_quarantine_found_none",
                       "An administrator wanted to end a quarantine, and none of that epoch runs",
                       fields.all());
  }
  logger.Warn("audit.end_quarantine",
              "An administrator ended the quarantine: a holder that has not proved its lease, and "
              "still works, is no longer alone",
              fields.all());
}

}  // namespace lockkeeper::rpc
