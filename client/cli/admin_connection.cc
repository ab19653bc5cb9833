// SPDX-License-Identifier: Apache-2.0
#include "cli/admin_connection.h"

#include <grpc/support/time.h>

#include <utility>

#include "cli/service.h"
#include "transport/call_options.h"
#include "transport/channels.h"
#include "transport/status_details.h"

namespace lockkeeper::cli {
namespace {

constexpr int64_t kConnectMillis = 2'000;
constexpr std::chrono::seconds kCallTimeout{5};

// Connects; an attempt that fails is not waited out.
bool IsReached(grpc::Channel& channel) {
  const gpr_timespec deadline = gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                                             gpr_time_from_millis(kConnectMillis, GPR_TIMESPAN));
  while (true) {
    const grpc_connectivity_state state = channel.GetState(/*try_to_connect=*/true);
    if (state == GRPC_CHANNEL_READY) return true;
    if (state == GRPC_CHANNEL_TRANSIENT_FAILURE || state == GRPC_CHANNEL_SHUTDOWN) return false;
    if (!channel.WaitForStateChange(state, deadline)) return false;
  }
}

}  // namespace

AdminConnection::AdminConnection(std::shared_ptr<grpc::Channel> channel)
    : channel_(std::move(channel)) {}

absl::StatusOr<AdminConnection> AdminConnection::Connect(
    const std::vector<std::string>& addresses) {
  SilenceGrpc();
  std::string tried;
  for (const std::string& address : addresses) {
    auto channel = client::NewChannel(address);
    if (IsReached(*channel)) return AdminConnection(std::move(channel));
    tried += (tried.empty() ? "" : ", ") + address;
  }
  return absl::UnavailableError("no connection to " + tried);
}

absl::Status AdminConnection::Call(absl::FunctionRef<grpc::Status(grpc::ClientContext&)> call) {
  grpc::ClientContext context;
  client::SetTimeout(context, kCallTimeout);
  return client::StatusOfUncancelled(call(context));
}

}  // namespace lockkeeper::cli
