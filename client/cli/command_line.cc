// SPDX-License-Identifier: Apache-2.0
#include "cli/command_line.h"

#include <csignal>
#include <type_traits>
#include <variant>

#include "cli/admin_commands.h"
#include "cli/arguments.h"
#include "cli/lock_commands.h"
#include "cli/report.h"
#include "cli/run/run_command.h"
#include "cli/service.h"
#include "cli/signals/signals.h"
#include "lockkeeper/build_info.h"

namespace lockkeeper::cli {
namespace {

Report WithClient(const std::vector<std::string>& servers,
                  absl::FunctionRef<Report(Client&)> call) {
  absl::StatusOr<Client> client = NewClient(servers);
  return client.ok() ? call(*client) : ServerOptionReport(client.status());
}

Report WithAdmin(const std::vector<std::string>& servers, std::string_view name,
                 absl::FunctionRef<Report(AdminConnection&)> call) {
  if (absl::Status status = CheckServers(servers); !status.ok()) return ServerOptionReport(status);
  absl::StatusOr<AdminConnection> connection = AdminConnection::Connect(servers);
  return connection.ok() ? call(*connection) : ErrorReport(connection.status(), name);
}

struct Runner {
  const std::vector<std::string>& servers;

  Report operator()(const AcquireCommand& command) const {
    // A pipe that nobody reads is an answer that cannot be written.
    std::signal(SIGPIPE, SIG_IGN);
    // Before the client, whose threads have to leave the signals to us.
    SignalQueue signals({SIGHUP, SIGINT, SIGQUIT, SIGTERM});
    return WithClient(servers, [&](Client& client) { return Acquire(client, command, signals); });
  }
  Report operator()(const ExtendCommand& command) const {
    return WithClient(servers, [&](Client& client) { return Extend(client, command); });
  }
  Report operator()(const ReleaseCommand& command) const {
    return WithClient(servers, [&](Client& client) { return Release(client, command); });
  }
  Report operator()(const FenceCommand& command) const {
    return WithClient(servers, [&](Client& client) { return Fence(client, command); });
  }
  Report operator()(const GetCommand& command) const {
    return WithAdmin(servers, command.name,
                     [&](AdminConnection& connection) { return Get(connection, command); });
  }
  Report operator()(const ListCommand& command) const {
    return WithAdmin(servers, "",
                     [&](AdminConnection& connection) { return List(connection, command); });
  }
  Report operator()(const ForceReleaseCommand& command) const {
    return WithAdmin(servers, command.name, [&](AdminConnection& connection) {
      return ForceRelease(connection, command);
    });
  }
  Report operator()(const HealthCommand&) const {
    return WithAdmin(servers, "", [&](AdminConnection& connection) { return Health(connection); });
  }
  Report operator()(const RunCommand& command) const { return RunUnderLock(servers, command); }
};

}  // namespace

int RunCommandLine(const std::vector<std::string>& words) {
  const ParsedArguments parsed =
      ParseArguments(words, "lockkeeper " + std::string(GetBuildInfo().version));
  if (const auto* help = std::get_if<HelpText>(&parsed)) {
    return Print(Report("help", ExitCode::kDone, help->text), OutputFormat::kText);
  }
  if (const auto* error = std::get_if<UsageError>(&parsed)) {
    return Print(UsageReport(error->message), OutputAskedFor(words));
  }
  const Arguments& arguments = std::get<Arguments>(parsed);
  return Print(std::visit(Runner{arguments.servers}, arguments.command), arguments.output);
}

}  // namespace lockkeeper::cli
