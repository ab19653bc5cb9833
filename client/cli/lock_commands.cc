// SPDX-License-Identifier: Apache-2.0
#include "cli/lock_commands.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <variant>

#include "cli/signals/acquire_until_signal.h"
#include "text/duration.h"
#include "text/utf8.h"

namespace lockkeeper::cli {
namespace {

std::string NameOf(ContentionReason reason) {
  switch (reason) {
    case ContentionReason::kHeld:
      return "HELD";
    case ContentionReason::kWaitTimedOut:
      return "WAIT_TIMED_OUT";
    case ContentionReason::kCancelled:
      return "CANCELLED";
    case ContentionReason::kClosed:
      return "CLOSED";
  }
  return "HELD";
}

// The server's limit.
constexpr size_t kOwnerBytesMax = 256;

std::string Quoted(std::string_view name) { return "`" + std::string(name) + "`"; }

std::string LeaseLines(const Grant& grant) {
  return "  fencing token  " + std::to_string(grant.fencing_token) + "\n  remaining ttl  " +
         text::InWords(grant.remaining_ttl);
}

Report NotReleased(const ReleaseCommand& command, std::string_view reason, const char* message) {
  Report report("not_released", ExitCode::kRefuted,
                Quoted(command.name) + " was not released: " + message);
  report.json.Set("name", command.name)
      .Set("lease_id", command.lease_id)
      .Set("reason", reason)
      .Set("message", message);
  return report;
}

}  // namespace

std::string DefaultOwner(pid_t process, const std::string& program) {
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
  std::array<char, 4096> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  getpwuid_r(geteuid(), &entry, buffer.data(), buffer.size(), &found);
  const std::string user = found != nullptr ? found->pw_name : std::to_string(geteuid());
  const std::string owner = user + "@" + host.data() + "/" + std::to_string(process);
  const std::string named = owner + " " + program.substr(program.rfind('/') + 1);
  const bool is_text =
      text::IsUtf8(named) && std::none_of(named.begin(), named.end(),
                                          [](unsigned char c) { return c < 0x20 || c == 0x7F; });
  return !program.empty() && is_text && named.size() <= kOwnerBytesMax ? named : owner;
}

Report NotAcquiredReport(const AcquireResult& result, std::string_view name, int code) {
  if (!result.contention()) return ErrorReport(result.status(), name);
  const Contention& contention = *result.contention();
  std::string message(result.status().message());
  if (contention.remaining_ttl.count() > 0) {
    message += ", for at most another " + text::InWords(contention.remaining_ttl);
    if (contention.reason != ContentionReason::kClosed) message += " if nobody extends it";
  }
  Report report("contention", ExitCode::kNotAcquired, message);
  report.exit_code = code;
  report.json.Set("name", name)
      .Set("reason", NameOf(contention.reason))
      .Set("holder_owner", contention.holder_owner)
      .Set("remaining_ttl_ms", contention.remaining_ttl.count())
      .Set("waiters", contention.waiters)
      .Set("message", message);
  if (contention.position > 0) report.json.Set("position", contention.position);
  return report;
}

Report Acquire(Client& client, const AcquireCommand& command, SignalQueue& signals,
               Progress& progress) {
  std::variant<AcquireResult, Report> acquired =
      AcquireUntilSignal(client, command.name,
                         {.ttl = command.ttl,
                          .wait_timeout = command.wait,
                          .owner = command.owner,
                          .labels = command.labels,
                          .lock_delay = command.lock_delay,
                          .max_hold = command.max_hold,
                          .hold_at_least = command.hold_at_least,
                          .lease_id = command.lease_id},
                         signals, progress);
  if (auto* interrupted = std::get_if<Report>(&acquired)) return std::move(*interrupted);
  auto& result = std::get<AcquireResult>(acquired);
  if (!result) {
    return NotAcquiredReport(result, command.name, static_cast<int>(ExitCode::kNotAcquired));
  }
  Lease lease = std::move(result).TakeLease();
  const Grant grant = lease.grant();
  Report report("granted", ExitCode::kDone,
                "acquired " + Quoted(command.name) + "\n  lease id       " + grant.lease_id + "\n" +
                    LeaseLines(grant));
  if (command.lease_id.empty()) {
    report.lease = std::move(lease);
  } else {
    std::move(lease)
        .Detach();  // Stays held even if the report cannot be written: the caller knows the id.
  }
  if (!grant.reassertion.empty()) report.text += "\n  reassertion    " + grant.reassertion;
  if (grant.previous_lease_expired) {
    report.text +=
        "\n  note           the previous lease ended without a release: what the lock "
        "guards "
        "may be half done";
  }
  report.json.Set("name", grant.name)
      .Set("lease_id", grant.lease_id)
      .Set("fencing_token", grant.fencing_token)
      .Set("ttl_ms", grant.ttl.count())
      .Set("remaining_ttl_ms", grant.remaining_ttl.count())
      .Set("waited_ms", grant.waited.count())
      .Set("previous_lease_expired", grant.previous_lease_expired)
      .Set("reassertion", grant.reassertion);
  return report;
}

Report Extend(Client& client, const ExtendCommand& command) {
  absl::StatusOr<Lease> lease = client.Adopt(
      command.name, command.lease_id,
      {.ttl = command.ttl, .fencing_token = command.token, .reassertion = command.reassertion});
  if (!lease.ok()) return ErrorReport(lease.status(), command.name);
  const Grant grant = lease->grant();
  const std::string lease_id = std::move(*lease).Detach();

  Report report("extended", ExitCode::kDone,
                "extended " + Quoted(command.name) + "\n" + LeaseLines(grant));
  if (!grant.reassertion.empty()) report.text += "\n  reassertion    " + grant.reassertion;
  report.json.Set("name", grant.name)
      .Set("lease_id", lease_id)
      .Set("fencing_token", grant.fencing_token)
      .Set("ttl_ms", grant.ttl.count())
      .Set("remaining_ttl_ms", grant.remaining_ttl.count())
      .Set("reassertion", grant.reassertion);
  return report;
}

Report Release(Client& client, const ReleaseCommand& command) {
  const absl::StatusOr<ReleaseOutcome> outcome = client.Release(command.name, command.lease_id);
  if (!outcome.ok()) return ErrorReport(outcome.status(), command.name);
  switch (*outcome) {
    case ReleaseOutcome::kReleased:
      break;
    case ReleaseOutcome::kExpired:
      return NotReleased(command, "EXPIRED", "its lease had already ended");
    case ReleaseOutcome::kNotHolder:
      return NotReleased(command, "NOT_HOLDER", "this lease id does not hold it");
    case ReleaseOutcome::kWaiterRemoved:
      return NotReleased(command, "WAITER_REMOVED", "this lease id stood in line, and has left it");
  }
  Report report("released", ExitCode::kDone, "released " + Quoted(command.name));
  report.json.Set("name", command.name).Set("lease_id", command.lease_id);
  return report;
}

Report Fence(Client& client, const FenceCommand& command) {
  const absl::StatusOr<FenceResult> result =
      client.Fence(command.name, command.token, {.require_live_lease = command.require_live_lease});
  if (!result.ok()) return ErrorReport(result.status(), command.name);
  const std::string token =
      "token " + std::to_string(command.token) + " of " + Quoted(command.name);
  const auto report_of = [&](const char* outcome, ExitCode code, const std::string& message) {
    Report report(outcome, code, token + " " + message);
    report.json.Set("name", command.name)
        .Set("fencing_token", command.token)
        .Set("newest_fencing_token", result->newest_fencing_token);
    return report;
  };
  switch (result->verdict) {
    case Verdict::kAdmitted:
      return report_of("admitted", ExitCode::kDone, "is the newest");
    case Verdict::kStale:
      return report_of(
          "stale", ExitCode::kRefuted,
          "is stale: " + std::to_string(result->newest_fencing_token) + " was granted");
    case Verdict::kExpired:
      return report_of("expired", ExitCode::kRefuted, "is the newest, but its lease is over");
    case Verdict::kUnknownToken:
    case Verdict::kUnknown:
      break;
  }
  return report_of("unknown_token", ExitCode::kRefuted, "is not known");
}

}  // namespace lockkeeper::cli
