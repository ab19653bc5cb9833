// SPDX-License-Identifier: Apache-2.0
#include "cli/drain_command.h"

#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <string>

#include "cli/lines.h"
#include "cli/lock_commands.h"
#include "cli/server_info.h"
#include "lockkeeper/admin/v1/admin_service.grpc.pb.h"
#include "os/boot_clock.h"
#include "text/duration.h"

namespace lockkeeper::cli {
namespace {

// For the end of the process after its drain.
constexpr std::chrono::seconds kEndTime{5};

constexpr int kLookIntervalMs = 100;

// Whether another daemon or none answers where this one did. Without the right to ask who it is,
// only that none answers can be told.
bool IsGone(const Service& service, const std::string& daemon_id) {
  auto connection = AdminConnection::Connect(service);
  if (!connection.ok()) return true;
  const auto info = AskServerInfo(*connection);
  if (!info.ok()) return false;
  return info->daemon_id() != daemon_id;
}

bool WaitUntilGone(const Service& service, const admin::v1::DrainResponse& drained) {
  const auto end = os::BootTime() + Millis(drained.drain_timeout()) + kEndTime;
  while (!IsGone(service, drained.daemon_id())) {
    if (os::BootTime() > end) return false;
    poll(nullptr, 0, kLookIntervalMs);  // Nothing tells of the end of a process elsewhere.
  }
  return true;
}

}  // namespace

Report Drain(AdminConnection& connection, const Service& service, const DrainCommand& command) {
  const auto stub = admin::v1::AdminService::NewStub(connection.channel());
  admin::v1::DrainRequest request;
  request.set_reason(command.reason);
  request.set_owner(DefaultOwner(getppid()));
  admin::v1::DrainResponse response;
  const absl::Status status = connection.Call(
      [&](grpc::ClientContext& context) { return stub->Drain(&context, request, &response); });
  if (!status.ok()) return ErrorReport(status, "");
  const milliseconds timeout = Millis(response.drain_timeout());
  const std::string at = "the daemon " + response.daemon_id() + " at " + connection.address();
  const auto report_of = [&](const char* outcome, ExitCode code, const std::string& text) {
    Report report(outcome, code, text);
    report.json.Set("daemon_id", response.daemon_id())
        .Set("started", response.started())
        .Set("drain_timeout_ms", timeout.count());
    return report;
  };
  if (!command.wait) {
    return report_of("draining", ExitCode::kDone,
                     at + (response.started() ? " drains" : " drains already") + ", for at most " +
                         text::InWords(timeout));
  }
  if (WaitUntilGone(service, response)) return report_of("gone", ExitCode::kDone, at + " is gone");
  return report_of("draining", ExitCode::kUnavailable,
                   at + " is still there after " + text::InWords(timeout + kEndTime));
}

}  // namespace lockkeeper::cli
