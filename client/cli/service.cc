// SPDX-License-Identifier: Apache-2.0
#include "cli/service.h"

#include <grpc/support/log.h>

#include <algorithm>
#include <cstdlib>

#include "text/duration.h"
#include "transport/channels.h"

namespace lockkeeper::cli {
namespace {

constexpr milliseconds kReleaseTimeout = std::chrono::seconds(2);

}  // namespace

void SilenceGrpc() {
  if (std::getenv("GRPC_VERBOSITY") == nullptr) gpr_set_log_function([](gpr_log_func_args*) {});
}

absl::StatusOr<Client> NewClient(const Service& service, Progress& progress,
                                 const std::string& owner, milliseconds wait) {
  SilenceGrpc();
  const std::string outlook = "trying for " + text::InWords(wait + service.timeout);
  progress.SetOutlook([outlook] { return outlook; });
  return Client::Create(
      {.addresses = service.servers,
       .owner = owner,
       .call_timeout = service.timeout,
       .release_timeout = std::min<milliseconds>(service.timeout, kReleaseTimeout),
       .on_unserved = [&progress](const absl::Status& why) { progress.OnUnserved(why); }});
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
