// SPDX-License-Identifier: Apache-2.0
#include "cli/command_line.h"

#include <unistd.h>

#include <csignal>
#include <iostream>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "cli/access_commands.h"
#include "cli/admin_commands.h"
#include "cli/arguments.h"
#include "cli/backup_check.h"
#include "cli/contended_command.h"
#include "cli/doctor.h"
#include "cli/drain_command.h"
#include "cli/host_clock.h"
#include "cli/http_health.h"
#include "cli/lock_commands.h"
#include "cli/lock_listing.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "cli/run/run_command.h"
#include "cli/server_info.h"
#include "cli/service.h"
#include "cli/signals/signals.h"
#include "cli/tls_problem.h"
#include "cli/top/top_command.h"
#include "cli/watch_command.h"
#include "lockkeeper/build_info.h"

namespace lockkeeper::cli {
namespace {

struct Runner {
  const Service& service;
  OutputFormat output;
  Progress& progress;

  Report WithClient(milliseconds wait, absl::FunctionRef<Report(Client&)> call) const {
    absl::StatusOr<Client> client = NewClient(service, progress, DefaultOwner(getppid()), wait);
    return client.ok() ? call(*client) : ServerOptionReport(client.status());
  }
  Report WithAdmin(std::string_view name, absl::FunctionRef<Report(AdminConnection&)> call) const {
    if (absl::Status status = CheckService(service); !status.ok()) {
      return ServerOptionReport(status);
    }
    absl::StatusOr<AdminConnection> connection = AdminConnection::Connect(service);
    return connection.ok() ? call(*connection) : ErrorReport(connection.status(), name);
  }

  Report operator()(const AcquireCommand& command) const {
    // Before the client, because its threads inherit the blocked signals.
    SignalQueue signals({SIGHUP, SIGINT, SIGQUIT, SIGTERM});
    return WithClient(command.wait,
                      [&](Client& client) { return Acquire(client, command, signals, progress); });
  }
  Report operator()(const ExtendCommand& command) const {
    return WithClient(milliseconds(0), [&](Client& client) { return Extend(client, command); });
  }
  Report operator()(const ReleaseCommand& command) const {
    return WithClient(milliseconds(0), [&](Client& client) { return Release(client, command); });
  }
  Report operator()(const FenceCommand& command) const {
    return WithClient(milliseconds(0), [&](Client& client) { return Fence(client, command); });
  }
  Report operator()(const GetCommand& command) const {
    return WithAdmin(command.name,
                     [&](AdminConnection& connection) { return Get(connection, command); });
  }
  Report operator()(const HistoryCommand& command) const {
    return WithAdmin(command.name,
                     [&](AdminConnection& connection) { return History(connection, command); });
  }
  Report operator()(const IsHeldCommand& command) const {
    return WithAdmin(command.name,
                     [&](AdminConnection& connection) { return IsHeld(connection, command); });
  }
  Report operator()(const ListCommand& command) const {
    return WithAdmin("", [&](AdminConnection& connection) { return List(connection, command); });
  }
  Report operator()(const WhoCommand& command) const {
    return WithAdmin("", [&](AdminConnection& connection) { return Who(connection, command); });
  }
  Report operator()(const ContendedCommand& command) const {
    return WithAdmin("",
                     [&](AdminConnection& connection) { return Contended(connection, command); });
  }
  Report operator()(const TopCommand& command) const {
    if (command.once || isatty(STDIN_FILENO) == 0 || isatty(STDOUT_FILENO) == 0) {
      return WithAdmin("",
                       [&](AdminConnection& connection) { return TopOnce(connection, command); });
    }
    // Before the connection, because its threads inherit the blocked signals.
    SignalQueue signals({SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGWINCH});
    return WithAdmin(
        "", [&](AdminConnection& connection) { return TopLive(connection, command, signals); });
  }
  Report operator()(const WatchCommand& command) const {
    if (absl::Status status = CheckService(service); !status.ok()) {
      return ServerOptionReport(status);
    }
    if (output == OutputFormat::kShell) return UsageReport("watch prints text or json");
    // Before the connection, because its threads inherit the blocked signals.
    SignalQueue signals({SIGHUP, SIGINT, SIGQUIT, SIGTERM});
    return Watch(service, command, output, signals);
  }
  Report operator()(const ForceReleaseCommand& command) const {
    return WithAdmin(command.name, [&](AdminConnection& connection) {
      return ForceRelease(connection, command);
    });
  }
  Report operator()(const EndQuarantineCommand& command) const {
    return WithAdmin(
        "", [&](AdminConnection& connection) { return EndQuarantine(connection, command); });
  }
  Report operator()(const DrainCommand& command) const {
    return WithAdmin(
        "", [&](AdminConnection& connection) { return Drain(connection, service, command); });
  }
  Report operator()(const HealthCommand& command) const {
    if (!command.http.empty()) return HttpHealth(command.http, service.timeout);
    return WithAdmin("", [&](AdminConnection& connection) { return Health(connection); });
  }
  Report operator()(const InfoCommand&) const {
    return WithAdmin("", [&](AdminConnection& connection) { return Info(connection); });
  }
  Report operator()(const DoctorCommand&) const {
    if (absl::Status status = CheckService(service); !status.ok()) {
      return ServerOptionReport(status);
    }
    return Doctor(service, std::string(GetBuildInfo().version));
  }
  Report operator()(const BackupCheckCommand& command) const {
    return WithAdmin("",
                     [&](AdminConnection& connection) { return BackupCheck(connection, command); });
  }
  Report operator()(const WhoamiCommand&) const {
    return WithAdmin("", [&](AdminConnection& connection) { return Whoami(connection); });
  }
  Report operator()(const CanCommand& command) const {
    return WithAdmin(command.name,
                     [&](AdminConnection& connection) { return Can(connection, command); });
  }
  Report operator()(const TokenCommand& command) const {
    return MakeToken(command, std::cin, HostTime());
  }
  Report operator()(const RunCommand& command) const {
    return RunUnderLock(service, progress, command);
  }
};

// Whether TLS of the gRPC port can be why the command failed.
bool UsesGrpc(const Command& command) {
  const auto* const health = std::get_if<HealthCommand>(&command);
  return health == nullptr || health->http.empty();
}

bool IsRun(const ParsedArguments& parsed) {
  const auto* const arguments = std::get_if<Arguments>(&parsed);
  return arguments != nullptr && std::holds_alternative<RunCommand>(arguments->command);
}

}  // namespace

int RunCommandLine(const std::vector<std::string>& words) {
  const ParsedArguments parsed =
      ParseArguments(words, "lockkeeper " + std::string(GetBuildInfo().version));
  // A write to a pipe that nobody reads must fail instead of ending the process. `run` does this
  // itself, later: its command inherits the signal as it is now.
  if (!IsRun(parsed)) std::signal(SIGPIPE, SIG_IGN);
  if (const auto* help = std::get_if<HelpText>(&parsed)) {
    return Print(Report("help", ExitCode::kDone, help->text), OutputFormat::kText);
  }
  if (const auto* error = std::get_if<UsageError>(&parsed)) {
    return Print(UsageReport(error->message), OutputAskedFor(words));
  }
  const Arguments& arguments = std::get<Arguments>(parsed);
  Progress progress(arguments.service.quiet);  // A lease is renewed until it is printed.
  Report report =
      std::visit(Runner{arguments.service, arguments.output, progress}, arguments.command);
  if (UsesGrpc(arguments.command)) report = WithTlsProblem(std::move(report), arguments.service);
  return Print(std::move(report), arguments.output);
}

}  // namespace lockkeeper::cli
