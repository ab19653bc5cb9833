// SPDX-License-Identifier: Apache-2.0
#include "cli/run/run_command.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "cli/admin_commands.h"
#include "cli/lock_commands.h"
#include "cli/run/supervisor.h"
#include "cli/service.h"
#include "cli/signals/acquire_until_signal.h"
#include "text/duration.h"

namespace lockkeeper::cli {
namespace {

// The exit code that shells use.
constexpr int kExitNotFound = 127;
constexpr int kExitNotExecutable = 126;
constexpr int kExitSignal = 128;

// The grace to use, or why the given one is not possible.
absl::StatusOr<milliseconds> GraceOf(const RunCommand& command) {
  const milliseconds max = GraceMax(command.ttl);
  if (max < milliseconds(0)) {
    return absl::InvalidArgumentError("--ttl " + text::FormatDuration(command.ttl) +
                                      " is too short for `run`: it must be at least " +
                                      text::FormatDuration(TtlMin()) +
                                      ", because the command must be killed before the lease ends");
  }
  if (!command.grace) return GraceDefault(command.ttl);
  if (*command.grace > max) {
    return absl::InvalidArgumentError(
        "--grace " + text::FormatDuration(*command.grace) + " does not fit into --ttl " +
        text::FormatDuration(command.ttl) +
        ": the command must be stopped before the lease ends, and the lease renewed before that; "
        "with this ttl the grace can be at most " +
        text::FormatDuration(max));
  }
  return *command.grace;
}

// Moves the report to stderr, because stdout is the command's.
Report OnStderr(Report report) {
  report.is_error = true;
  return report;
}

// The signals that run passes on to its command, and SIGCONT, after which run continues.
SignalQueue SignalsOfRun() {
  // Without SIGTTOU terminal calls from the background work; without SIGPIPE writes to a pipe that
  // nobody reads fail.
  sigset_t from_terminal;
  sigemptyset(&from_terminal);
  sigaddset(&from_terminal, SIGTTOU);
  sigprocmask(SIG_BLOCK, &from_terminal, nullptr);
  signal(SIGPIPE, SIG_IGN);
  return SignalQueue({SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH, SIGCONT});
}

Report NotStartedReport(const RunCommand& command, int error) {
  const bool is_missing = error == ENOENT;
  const std::string message = "cannot start `" + command.command[0] + "`: " + std::strerror(error);
  Report report("error", ExitCode::kOther, "lockkeeper: " + message);
  report.exit_code = is_missing ? kExitNotFound : kExitNotExecutable;
  report.json.Set("name", command.name)
      .Set("reason", "COMMAND_NOT_STARTED")
      .Set("message", message);
  return OnStderr(std::move(report));
}

// Why the command was stopped, for programs and for people.
struct StopCause {
  const char* name;
  std::string message;
};

// Whether an administrator ended the lease. False if the service does not know any more or does not
// answer soon.
bool WasForced(const Service& service, const std::string& name) {
  Service asked = service;
  asked.timeout = std::min<milliseconds>(service.timeout, std::chrono::seconds(1));
  absl::StatusOr<AdminConnection> connection = AdminConnection::Connect(asked);
  if (!connection.ok()) return false;
  const auto lock = LookUp(*connection, name);
  return lock.ok() && lock->lock().last_end() == admin::v1::LEASE_END_FORCED;
}

StopCause CauseOf(const Loss& loss, const Service& service, const std::string& name) {
  const std::string lost = "the lease of `" + name + "` was lost: ";
  switch (loss.cause) {
    case LossCause::kEnded:
      if (WasForced(service, name)) return {"FORCED", lost + "an administrator ended it"};
      return {"ENDED", lost + std::string(loss.error.message())};
    case LossCause::kNotRenewed:
      return {"NOT_RENEWED",
              lost + "it could not be renewed: " + std::string(loss.error.message())};
    case LossCause::kMaxHold:
      return {"MAX_HOLD", "the lease of `" + name + "` has reached its --max-hold"};
    case LossCause::kPaused:
      return {"PAUSED", lost + "`lockkeeper run` was paused and did not renew it"};
    case LossCause::kNotLost:
      break;
  }
  return {"GUARDIAN_PAUSED",
          "the guardian process was paused, and did not hear that the lease of `" + name +
              "` was renewed"};
}

Report LostReport(const RunCommand& command, int64_t token, const StopCause& cause) {
  const std::string message = cause.message + "; the command and its process group were stopped";
  Report report("lease_lost", ExitCode::kLeaseLost, "lockkeeper: " + message);
  report.json.Set("name", command.name)
      .Set("fencing_token", token)
      .Set("reason", "LEASE_LOST")
      .Set("cause", cause.name)
      .Set("message", message);
  return OnStderr(std::move(report));
}

Report GuardianGoneReport(const RunCommand& command) {
  const std::string message = "somebody killed the guardian process, and the command with it";
  Report report("error", ExitCode::kOther, "lockkeeper: " + message);
  report.json.Set("name", command.name).Set("reason", "GUARDIAN_GONE").Set("message", message);
  return OnStderr(std::move(report));
}

// Why an answered release released nothing.
struct NotReleasedWhy {
  const char* reason;
  const char* message;
};

NotReleasedWhy WhyNot(ReleaseOutcome outcome) {
  if (outcome == ReleaseOutcome::kExpired) return {"EXPIRED", "its lease had already ended"};
  return {"NOT_HOLDER", "the store does not know its lease: it may have forgotten it"};
}

// Why a release failed. Nobody retries it once run has ended. An extend without an answer may have
// moved the end of the lease, so that only the ttl says how long it may live.
std::string FailedRelease(const absl::Status& error, milliseconds ttl) {
  return std::string(error.message()) +
         "; unless it was released all the same, the lock stays held until its lease ends, for at "
         "most " +
         text::InWords(ttl);
}

// The report of a command that ended by itself. Its status is run's, even if the release failed.
Report EndedReport(const RunCommand& command, const Grant& grant, int wait_status,
                   const absl::StatusOr<ReleaseOutcome>& released) {
  const bool is_released = released.ok() && *released == ReleaseOutcome::kReleased;
  Report report(is_released ? "released" : "not_released", ExitCode::kDone, "");
  report.exit_code =
      WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : kExitSignal + WTERMSIG(wait_status);
  report.json.Set("name", command.name).Set("fencing_token", grant.fencing_token);
  if (!is_released) {
    const std::string message =
        released.ok() ? WhyNot(*released).message : FailedRelease(released.status(), grant.ttl);
    report.text = "lockkeeper: warning: `" + command.name + "` was not released: " + message;
    report.json
        .Set("reason", released.ok() ? WhyNot(*released).reason : NameOfError(released.status()))
        .Set("message", message);
  }
  report.json.Set("exit_code", report.exit_code);
  return OnStderr(std::move(report));
}

Report RunHolding(Lease& lease, const RunCommand& command, const Service& service,
                  Supervisor& supervisor, Terminal& terminal) {
  const Grant& grant = lease.grant();
  const CommandEnd end = supervisor.Run();
  const bool was_killed = end.how != CommandEnd::How::kNotStarted && WIFSIGNALED(end.wait_status);
  if (was_killed || end.how == CommandEnd::How::kForLease) terminal.RestoreModes();
  const Loss loss = lease.loss();
  const absl::StatusOr<ReleaseOutcome> released = lease.Release();
  switch (end.how) {
    case CommandEnd::How::kByItself:
      break;
    case CommandEnd::How::kForLease:
      return LostReport(command, grant.fencing_token, CauseOf(loss, service, command.name));
    case CommandEnd::How::kNotStarted:
      return NotStartedReport(command, end.error);
    case CommandEnd::How::kGuardianGone:
      return GuardianGoneReport(command);
  }
  return EndedReport(command, grant, end.wait_status, released);
}

}  // namespace

Report RunUnderLock(const Service& service, Progress& progress, const RunCommand& command) {
  if (absl::Status status = CheckService(service); !status.ok()) {
    return ServerOptionReport(status);
  }
  const absl::StatusOr<milliseconds> grace = GraceOf(command);
  if (!grace.ok()) return UsageReport(std::string(grace.status().message()));

  Terminal terminal;
  const GuardianSetup setup{.lock_name = command.name,
                            .command = command.command,
                            .grace = *grace,
                            .signal_mask = CurrentSignalMask(),
                            .terminal = terminal.descriptor()};
  absl::StatusOr<GuardianLink> guardian = GuardianLink::Fork(setup);
  if (!guardian.ok()) return ErrorReport(guardian.status(), command.name);
  SignalQueue signals = SignalsOfRun();
  const std::string owner =
      command.owner.empty() ? DefaultOwner(getpid(), command.command[0]) : command.owner;
  absl::StatusOr<Client> client = NewClient(service, progress, owner, command.wait);
  if (!client.ok()) return ServerOptionReport(client.status());

  std::variant<AcquireResult, Report> acquired = AcquireUntilSignal(
      *client, command.name,
      {.ttl = command.ttl,
       .wait_timeout = command.wait,
       .labels = command.labels,
       .lock_delay = command.lock_delay,
       .max_hold = command.max_hold,
       .hold_at_least = command.hold_at_least,
       .stop_margin = *grace + std::chrono::duration_cast<milliseconds>(kKillMargin)},
      signals, progress);
  if (auto* report = std::get_if<Report>(&acquired)) return std::move(*report);
  auto& result = std::get<AcquireResult>(acquired);
  if (!result) {
    Report report = OnStderr(NotAcquiredReport(result, command.name, command.conflict_exit_code));
    if (service.quiet && result.contention()) report.text.clear();
    return report;
  }
  Lease lease = std::move(result).TakeLease();
  Supervisor supervisor(*guardian, signals, terminal, lease, *grace, progress);
  return RunHolding(lease, command, service, supervisor, terminal);
}

}  // namespace lockkeeper::cli
