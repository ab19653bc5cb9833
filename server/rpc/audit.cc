// SPDX-License-Identifier: Apache-2.0
#include "rpc/audit.h"

#include <chrono>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/errors.h"
#include "core/limits.h"
#include "rpc/answer.h"
#include "telemetry/log_fields.h"

namespace lockkeeper::rpc {
namespace {

namespace field = telemetry::field;
using audit::Record;
using audit::Room;
using telemetry::Outcome;

std::string_view Bounded(std::string_view text, size_t bytes_max) {
  return text.substr(0, bytes_max);
}

telemetry::LogField About(const ForceReleaseRequest& request) {
  return field::LockName(Bounded(request.name, core::limits::kNameBytesMax));
}
telemetry::LogField About(const EndQuarantineRequest& request) {
  return field::Epoch(request.epoch);
}

// Who asked for what, and the fields of `more`. A rejected request may have texts of any length.
class Fields {
 public:
  template <typename Request>
  Fields(Caller& caller, const Request& request, std::initializer_list<telemetry::LogField> more)
      : peer_(caller.Peer()),
        fields_{field::RequestId(caller.RequestId()), field::Peer(peer_),
                field::OwnerId(Bounded(request.owner, core::limits::kOwnerBytesMax))} {
    if constexpr (requires { About(request); }) fields_.push_back(About(request));
    fields_.push_back(field::AuditReason(Bounded(request.reason, core::limits::kReasonBytesMax)));
    if (!caller.principal().empty()) fields_.push_back(field::Principal(caller.principal()));
    fields_.insert(fields_.end(), more);
  }

  telemetry::LogFields all() const { return fields_; }

 private:
  const std::string peer_;
  std::vector<telemetry::LogField> fields_;
};

void LogRejected(const telemetry::Logger& logger, const ForceReleaseRequest&,
                 const Fields& fields) {
  logger.Warn("audit.force_release_rejected",
              "An administrator's request to end a lease was rejected, nothing was changed",
              fields.all());
}

void LogRejected(const telemetry::Logger& logger, const EndQuarantineRequest&,
                 const Fields& fields) {
  logger.Warn("audit.end_quarantine_rejected",
              "An administrator's request to end a quarantine was rejected, nothing was changed",
              fields.all());
}

void LogRejected(const telemetry::Logger& logger, const DrainRequest&, const Fields& fields) {
  logger.Warn("audit.drain_rejected",
              "An administrator's request to drain the daemon was rejected, nothing was changed",
              fields.all());
}

void LogFailed(const telemetry::Logger& logger, const ForceReleaseRequest&, const Fields& fields) {
  logger.Warn("audit.force_release_failed",
              "An administrator could not end a lease, or it is unknown whether", fields.all());
}

void LogFailed(const telemetry::Logger& logger, const EndQuarantineRequest&, const Fields& fields) {
  logger.Warn("audit.end_quarantine_failed",
              "An administrator could not end a quarantine, or it is unknown whether",
              fields.all());
}

std::string_view NameOf(core::NotReleasedReason reason) {
  switch (reason) {
    case core::NotReleasedReason::kNone:
      break;
    case core::NotReleasedReason::kExpired:
      return "EXPIRED";
    case core::NotReleasedReason::kNotHolder:
      return "NOT_HOLDER";
    case core::NotReleasedReason::kWaiterRemoved:
      return "WAITER_REMOVED";
  }
  return "";
}

// What failed, and why.
void AddError(const absl::Status& status, Record& record) {
  if (status.ok()) return;
  if (const auto reason = core::ReasonOf(status)) record.reason = core::RowOf(*reason).name;
  const absl::string_view problem = status.message();
  record.details.emplace_back("problem", std::string_view(problem.data(), problem.size()));
}

void AddFilter(const core::WatchFilter& filter, Record& record) {
  if (filter.match == core::WatchFilter::Match::kName) {
    record.lock = filter.text;
  } else {
    record.details.emplace_back("prefix", filter.text);
  }
}

// What only some requests have.
template <typename Request>
void AddRequest(const Request& request, Record& record) {
  if constexpr (requires { request.name; }) record.lock = request.name;
  if constexpr (requires { request.owner; }) record.owner = request.owner;
  if constexpr (requires { request.prefix; }) record.details.emplace_back("prefix", request.prefix);
  if constexpr (requires { request.filter; }) AddFilter(request.filter, record);
  if constexpr (requires { request.epoch; }) record.details.emplace_back("epoch", request.epoch);
  if constexpr (requires { request.reason; }) {
    record.details.emplace_back("audit_reason", request.reason);
  }
}

}  // namespace

absl::Status Auditor::CheckGrant() const {
  if (trail_ == nullptr || !trail_->RefusesGrants()) return absl::OkStatus();
  return core::Error(core::ErrorReason::kAuditUnavailable,
                     "this daemon cannot write audit records now, and grants nothing without");
}

void Auditor::Rejected(Caller& caller, const Operation& operation, const absl::Status& why,
                       Rejection rejection) {
  std::visit(
      [&]<typename Request>(const Request& request) {
        constexpr bool kIsAdministrators = requires { request.reason; };
        if constexpr (kIsAdministrators) {
          const std::string problem(why.message());
          LogRejected(logger_, request, {caller, request, {field::Problem(problem)}});
        }
        if (trail_ == nullptr || (rejection == Rejection::kOfRequest && !kIsAdministrators)) return;
        Record record{.verb = VerbNameOf(operation.verb()),
                      .outcome = Outcome::kError,
                      .origin = &caller.Origin()};
        AddRequest(request, record);
        AddError(why, record);
        trail_->Put(std::move(record), Room::kHalf);
      },
      operation.request);
}

void Auditor::Answered(Verb verb, Caller& caller, const Subject& subject, Outcome outcome,
                       const absl::Status& status) {
  if (trail_ == nullptr) return;
  const core::Lease* const lease = subject.lease;
  const bool is_grant = verb == Verb::kAcquire && lease != nullptr;
  const bool is_release = verb == Verb::kRelease && status.ok();
  const bool is_reassertion = verb == Verb::kExtend && lease != nullptr && lease->reasserted;
  const bool is_loss = verb == Verb::kExtend && outcome == Outcome::kLeaseLost;
  if (!is_grant && !is_release && !is_reassertion && !is_loss) return;

  Record record{.verb = VerbNameOf(verb),
                .outcome = outcome,
                .origin = &caller.Origin(),
                .lock = subject.lock_name,
                .owner = subject.owner,
                .token = subject.token};
  if (lease != nullptr) record.ttl = lease->ttl;
  if (is_grant) {
    record.waited = lease->waited;
    if (lease->offered) record.details.emplace_back("offered", true);
  } else if (is_release) {
    // Also if its caller has left by now.
    const bool released = subject.not_released == core::NotReleasedReason::kNone;
    record.outcome = released ? Outcome::kReleased : Outcome::kNotReleased;
    record.reason = NameOf(subject.not_released);
  } else if (is_reassertion) {
    record.outcome = Outcome::kExtended;
    record.details.emplace_back("reasserted", true);
  } else {
    AddError(status, record);
  }
  trail_->Put(std::move(record), is_grant ? Room::kGrant : Room::kOrdinary);
}

template <typename Request>
void Auditor::PutAnswer(Caller& caller, const Request& request, Outcome outcome,
                        const absl::Status& status, Record record) {
  if (trail_ == nullptr) return;
  record.outcome = outcome;
  record.origin = &caller.Origin();
  AddRequest(request, record);
  AddError(status, record);
  trail_->Put(std::move(record));
}

void Auditor::Answered(Caller& caller, const ForceReleaseRequest& request,
                       const absl::StatusOr<core::ForceReleaseAnswer>& answer) {
  const std::string_view verb = VerbNameOf(Verb::kForceRelease);
  if (!answer.ok()) {
    const std::string problem(answer.status().message());
    LogFailed(logger_, request, {caller, request, {field::Problem(problem)}});
    return PutAnswer(caller, request, Outcome::kError, answer.status(), {.verb = verb});
  }
  const Outcome outcome = OutcomeOf(*answer);
  const auto named = field::Outcome(telemetry::NameOf(outcome));
  const auto token = field::FencingToken(answer->token);
  const auto closed_for = field::ClosedFor(answer->closed_for);
  Record record{.verb = verb, .token = answer->token};
  record.details.emplace_back("closed_for_ms",
                              std::chrono::duration_cast<core::Millis>(answer->closed_for).count());
  if (answer->released) {
    const Fields fields(caller, request,
                        {field::HolderOwner(answer->holder_owner), token, closed_for, named});
    logger_.Info("audit.force_release", "An administrator ended a lease, or opened a closed lock",
                 fields.all());
    record.details.emplace_back("holder_owner", answer->holder_owner);
  } else {
    const Fields fields(caller, request, {token, closed_for, named});
    logger_.Info("audit.force_release_found_none",
                 "An administrator wanted to end a lease, and none was live", fields.all());
  }
  PutAnswer(caller, request, outcome, absl::OkStatus(), std::move(record));
}

void Auditor::Answered(Caller& caller, const EndQuarantineRequest& request,
                       const absl::StatusOr<core::EndQuarantineAnswer>& answer) {
  const std::string_view verb = VerbNameOf(Verb::kEndQuarantine);
  if (!answer.ok()) {
    const std::string problem(answer.status().message());
    LogFailed(logger_, request, {caller, request, {field::Problem(problem)}});
    return PutAnswer(caller, request, Outcome::kError, answer.status(), {.verb = verb});
  }
  const Outcome outcome = OutcomeOf(*answer);
  const auto left = std::chrono::ceil<core::Millis>(answer->left);
  const Fields fields(caller, request,
                      {field::Quarantine(left), field::Outcome(telemetry::NameOf(outcome))});
  if (answer->ended) {
    logger_.Warn("audit.end_quarantine",
                 "An administrator ended the quarantine: a holder that has not proved its lease, "
                 "and still works, is no longer alone",
                 fields.all());
  } else {
    logger_.Info("audit.end_quarantine_found_none",
                 "An administrator wanted to end a quarantine, and none of that epoch runs",
                 fields.all());
  }
  Record record{.verb = verb};
  record.details.emplace_back("quarantine_ms", left.count());
  PutAnswer(caller, request, outcome, absl::OkStatus(), std::move(record));
}

void Auditor::Answered(Caller& caller, const DrainRequest& request, bool started) {
  const Fields fields(caller, request, {});
  if (started) {
    logger_.Info("audit.drain", "An administrator asked the daemon to drain and end", fields.all());
  } else {
    logger_.Info("audit.drain_found_draining",
                 "An administrator asked the daemon to drain, which it does already", fields.all());
  }
  Record record{.verb = VerbNameOf(Verb::kDrain)};
  record.details.emplace_back("started", started);
  PutAnswer(caller, request, Outcome::kDone, absl::OkStatus(), std::move(record));
}

}  // namespace lockkeeper::rpc
