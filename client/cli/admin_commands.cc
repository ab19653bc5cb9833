// SPDX-License-Identifier: Apache-2.0
#include "cli/admin_commands.h"

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/lines.h"
#include "cli/lock_commands.h"
#include "cli/lock_listing.h"
#include "cli/lock_view.h"
#include "cli/server_info.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "lockkeeper/admin/v1/admin_service.grpc.pb.h"
#include "text/duration.h"

namespace lockkeeper::cli {
namespace {

using admin::v1::AdminService;

// Why the daemon does not serve, or grants nothing new, for people.
std::string WhatIsWrong(const admin::v1::GetServerInfoResponse& info, bool is_serving) {
  return is_serving ? info.store().grant_problem() : ProblemOf(info);
}

Report NotKnown(const admin::v1::GetLockResponse& response, const std::string& name) {
  return ErrorReport(absl::UnavailableError("whether `" + name + "` is held is " +
                                            NotKnownFor(response.quarantine_left())),
                     name);
}

Report NoRecord(const admin::v1::GetLockResponse& response, const std::string& name) {
  if (response.has_quarantine_left()) return NotKnown(response, name);
  Report report("not_found", ExitCode::kRefuted,
                "`" + name + "` is free, and there is no record of it");
  report.json.Set("name", name);
  return report;
}

// The report for a forced release that found no live lease.
Report NothingEnded(const ForceReleaseCommand& command, milliseconds closed) {
  std::string message = "`" + command.name + "` has no live lease";
  if (closed.count() > 0) {
    message += "; it stays closed for another " + text::InWords(closed) + ", and --now opens it";
  }
  Report report("not_released", ExitCode::kRefuted, message);
  report.json.Set("name", command.name)
      .Set("reason", "NOT_HELD")
      .Set("closed_for_ms", closed.count())
      .Set("message", message);
  return report;
}

}  // namespace

absl::StatusOr<admin::v1::GetLockResponse> LookUp(AdminConnection& connection,
                                                  const std::string& name) {
  const auto stub = AdminService::NewStub(connection.channel());
  admin::v1::GetLockRequest request;
  request.set_name(name);
  admin::v1::GetLockResponse response;
  const absl::Status status = connection.Call(
      [&](grpc::ClientContext& context) { return stub->GetLock(&context, request, &response); });
  if (!status.ok()) return status;
  return response;
}

Report Get(AdminConnection& connection, const GetCommand& command) {
  const auto found = LookUp(connection, command.name);
  if (!found.ok()) return ErrorReport(found.status(), command.name);
  if (!found->has_lock()) return NoRecord(*found, command.name);
  Report report("found", ExitCode::kDone, LockLines(found->lock()));
  SetLock(found->lock(), report.json);
  return report;
}

Report History(AdminConnection& connection, const HistoryCommand& command) {
  const auto found = LookUp(connection, command.name);
  if (!found.ok()) return ErrorReport(found.status(), command.name);
  if (!found->has_lock()) return NoRecord(*found, command.name);
  std::string lines = LockLine(found->lock());
  std::vector<JsonObject> history;
  for (const admin::v1::FormerLease& former : found->history()) {
    lines += "\n" + FormerLine(former);
    SetFormer(former, history.emplace_back());
  }
  Report report("found", ExitCode::kDone, lines);
  SetLock(found->lock(), report.json);
  report.json.Set("history", history);
  return report;
}

Report IsHeld(AdminConnection& connection, const IsHeldCommand& command) {
  const auto found = LookUp(connection, command.name);
  if (!found.ok()) return ErrorReport(found.status(), command.name);
  const bool is_held = found->lock().state() == admin::v1::LOCK_STATE_HELD;
  if (!is_held && found->has_quarantine_left()) return NotKnown(*found, command.name);
  Report report(is_held ? "held" : "not_held", is_held ? ExitCode::kDone : ExitCode::kRefuted,
                found->has_lock() ? LockLines(found->lock()) : "`" + command.name + "` is free");
  if (found->has_lock()) {
    SetLock(found->lock(), report.json);
  } else {
    report.json.Set("name", command.name);
  }
  return report;
}

Report ForceRelease(AdminConnection& connection, const ForceReleaseCommand& command) {
  const auto stub = AdminService::NewStub(connection.channel());
  admin::v1::ForceReleaseRequest request;
  request.set_name(command.name);
  request.set_reason(command.reason);
  request.set_now(command.now);
  request.set_owner(DefaultOwner(getppid()));
  admin::v1::ForceReleaseResponse response;
  const absl::Status status = connection.Call([&](grpc::ClientContext& context) {
    return stub->ForceRelease(&context, request, &response);
  });
  if (!status.ok()) return ErrorReport(status, command.name);
  const auto closed = Millis(response.closed_for());
  if (!response.released()) return NothingEnded(command, closed);
  Report report("force_released", ExitCode::kDone,
                (response.opened() ? "opened `" : "ended the lease of `") + command.name + "`" +
                    (closed.count() > 0 ? ", which stays closed for " + text::InWords(closed)
                                        : std::string()));
  report.json.Set("name", command.name)
      .Set("fencing_token", response.fencing_token())
      .Set("opened", response.opened())
      .Set("holder_owner", response.holder_owner())
      .Set("closed_for_ms", closed.count());
  return report;
}

Report EndQuarantine(AdminConnection& connection, const EndQuarantineCommand& command) {
  const auto stub = AdminService::NewStub(connection.channel());
  admin::v1::EndQuarantineRequest request;
  request.set_epoch(command.epoch);
  request.set_reason(command.reason);
  request.set_accept_two_holders(command.accepts_two_holders);
  request.set_owner(DefaultOwner(getppid()));
  admin::v1::EndQuarantineResponse response;
  const absl::Status status = connection.Call([&](grpc::ClientContext& context) {
    return stub->EndQuarantine(&context, request, &response);
  });
  if (!status.ok()) return ErrorReport(status, "");
  const auto left = Millis(response.quarantine_left());
  const std::string epoch = " in epoch " + std::to_string(response.epoch());
  std::string text = "ended the quarantine" + epoch + ", " + text::InWords(left) + " early";
  if (!response.ended()) {
    text = "nothing was changed: the store is" + epoch +
           (response.epoch() == command.epoch ? "" : ", not " + std::to_string(command.epoch)) +
           (left.count() > 0 ? ", quarantined for another " + text::InWords(left)
                             : ", and no quarantine runs");
  }
  Report report(response.ended() ? "quarantine_ended" : "no_quarantine",
                response.ended() ? ExitCode::kDone : ExitCode::kRefuted, text);
  report.json.Set("epoch", response.epoch()).Set("quarantine_left_ms", left.count());
  if (!response.ended()) report.json.Set("message", text);
  return report;
}

Report Health(AdminConnection& connection) {
  grpc::health::v1::HealthCheckResponse health;
  const auto health_stub = grpc::health::v1::Health::NewStub(connection.channel());
  const absl::Status status = connection.Call(
      [&](grpc::ClientContext& context) { return health_stub->Check(&context, {}, &health); });
  if (!status.ok()) return ErrorReport(status, "");
  const bool is_serving = health.status() == grpc::health::v1::HealthCheckResponse::SERVING;

  // Only for more details: whether the daemon serves does not depend on it.
  const auto info = AskServerInfo(connection);
  const std::string problem = info.ok() ? WhatIsWrong(*info, is_serving) : "";
  Report report(is_serving ? "serving" : "not_serving",
                is_serving ? ExitCode::kDone : ExitCode::kUnavailable,
                is_serving ? "serving" : "not serving");
  if (!problem.empty()) report.text += ": " + problem;
  if (info.ok()) {
    report.text += Line("daemon", info->version()) + Line("store", StoreText(info->store())) +
                   Line("epoch", std::to_string(info->store().epoch()));
    report.text += Line("audit", info->audit_problem());
    for (const std::string& note : info->store().notes()) report.text += Line("note", note);
    report.json.Set("version", info->version())
        .Set("draining", info->draining())
        .Set("store", info->store().kind())
        .Set("store_reachable", info->store().reachable())
        .Set("store_epoch", info->store().epoch())
        .Set("granting", is_serving && info->store().grant_problem().empty());
    if (info->store().has_quarantine_left()) {
      report.json.Set("quarantine_left_ms", Millis(info->store().quarantine_left()).count());
    }
    report.json.Set("notes", std::vector<std::string>(info->store().notes().begin(),
                                                      info->store().notes().end()));
    if (!info->audit_problem().empty()) report.json.Set("audit_problem", info->audit_problem());
    if (!info->store().last_loss().empty()) report.json.Set("last_loss", info->store().last_loss());
  }
  if (!problem.empty()) report.json.Set("message", problem);
  return report;
}

}  // namespace lockkeeper::cli
