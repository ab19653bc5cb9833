// SPDX-License-Identifier: Apache-2.0
#include "cli/service.h"

#include <grpc/support/log.h>

#include <cstdlib>

#include "cli/lock_commands.h"
#include "transport/channels.h"

namespace lockkeeper::cli {

void SilenceGrpc() {
  if (std::getenv("GRPC_VERBOSITY") == nullptr) gpr_set_log_function([](gpr_log_func_args*) {});
}

absl::StatusOr<Client> NewClient(const std::vector<std::string>& servers) {
  SilenceGrpc();
  return Client::Create({.addresses = servers,
                         .owner = DefaultOwner(),
                         .call_timeout = std::chrono::seconds(5),
                         .release_timeout = std::chrono::seconds(2)});
}

absl::Status CheckServers(const std::vector<std::string>& servers) {
  for (const std::string& server : servers) {
    if (absl::Status status = client::CheckAddress(server); !status.ok()) return status;
  }
  return absl::OkStatus();
}

Report ServerOptionReport(const absl::Status& status) {
  std::string message(status.message());
  const std::string option = FieldOf(status).value_or("") + ": ";
  if (message.starts_with(option)) message.erase(0, option.size());
  return UsageReport("--server (or LOCKKEEPER_SERVER): " + message);
}

}  // namespace lockkeeper::cli
