// SPDX-License-Identifier: Apache-2.0
#include "cli/admin_connection.h"

#include <algorithm>
#include <utility>

#include "cli/service.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "transport/call_options.h"
#include "transport/channels.h"
#include "transport/status_details.h"

namespace lockkeeper::cli {
namespace {

// Longest wait for the first answer of an address.
constexpr milliseconds kReachTimeout = std::chrono::seconds(2);

// OK if a server with gRPC health answers there.
absl::Status Reach(const std::shared_ptr<grpc::Channel>& channel, const std::string& address,
                   milliseconds timeout) {
  const auto stub = grpc::health::v1::Health::NewStub(channel);
  grpc::ClientContext context;
  client::SetTimeout(context, std::min(timeout, kReachTimeout));
  grpc::health::v1::HealthCheckResponse response;
  const absl::Status status =
      client::StatusOfUncancelled(stub->Check(&context, {}, &response), address);
  const bool is_away = absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
  return is_away ? absl::UnavailableError(status.message()) : absl::OkStatus();
}

}  // namespace

absl::StatusOr<AdminConnection> AdminConnection::Connect(const Service& service) {
  SilenceGrpc();
  const auto security = client::ChannelSecurity::Load(service.tls);
  if (!security.ok()) return security.status();
  const auto token = client::TokenFile::Open(service.token_file);
  if (!token.ok()) return token.status();
  std::string tried;
  for (const std::string& address : service.servers) {
    auto channel = client::NewChannel(address, *security);
    const absl::Status reached = Reach(channel, address, service.timeout);
    if (reached.ok()) return AdminConnection(std::move(channel), address, *token, service.timeout);
    tried += (tried.empty() ? "" : "; ") + std::string(reached.message());
  }
  return absl::UnavailableError(tried);
}

absl::Status AdminConnection::Call(absl::FunctionRef<grpc::Status(grpc::ClientContext&)> call) {
  grpc::ClientContext context;
  client::SetTimeout(context, timeout_);
  return Call(context, call);
}

absl::Status AdminConnection::CallWithoutEnd(
    absl::FunctionRef<grpc::Status(grpc::ClientContext&)> call) {
  grpc::ClientContext context;
  return Call(context, call);
}

absl::Status AdminConnection::Call(grpc::ClientContext& context,
                                   absl::FunctionRef<grpc::Status(grpc::ClientContext&)> call) {
  if (token_ != nullptr) token_->AddTo(context);
  const auto set_call = [this](grpc::ClientContext* now) {
    const std::lock_guard lock(under_way_->mutex);
    under_way_->call = now;
    return under_way_->cancelled;
  };
  if (set_call(&context)) context.TryCancel();
  const grpc::Status status = call(context);
  set_call(nullptr);
  return client::StatusOfUncancelled(status, address_);
}

void AdminConnection::Cancel() {
  const std::lock_guard lock(under_way_->mutex);
  under_way_->cancelled = true;
  if (under_way_->call != nullptr) under_way_->call->TryCancel();
}

}  // namespace lockkeeper::cli
