// SPDX-License-Identifier: Apache-2.0
#include "rpc/server_settings.h"

#include "core/limits.h"
#include "rpc/handshakes.h"

namespace lockkeeper::rpc {
namespace {

// A waiting call is a stream without data. Clients may ping this often to keep it alive through
// proxies; more is abuse. gRPC's default minimum of five minutes would cut off waiting clients.
constexpr int kClientPingIntervalMinMs = 5'000;
// We ping too, so that a caller that has vanished is noticed within 5 s and its acquire withdrawn:
// one that does not claim by itself would get a whole lease. More pings cost more than they gain:
// each takes 50 us, and nginx ends a stream after 1,000 of them.
constexpr int kPingIntervalMs = 2'000;
constexpr int kPingTimeoutMs = 3'000;

void SetKeepalive(grpc::ServerBuilder& builder) {
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kPingIntervalMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kPingTimeoutMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             kClientPingIntervalMinMs);
}

// Reflection is the only service of the old kind, which has threads of its own: one is plenty.
void LimitThreads(grpc::ServerBuilder& builder) {
  using Option = grpc::ServerBuilder::SyncServerOption;
  builder.SetSyncServerOption(Option::NUM_CQS, 1);
  builder.SetSyncServerOption(Option::MIN_POLLERS, 1);
  builder.SetSyncServerOption(Option::MAX_POLLERS, 1);
}

}  // namespace

void ApplyServerSettings(grpc::ServerBuilder& builder) {
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, core::limits::kCallsPerConnectionMax);
  builder.SetMaxReceiveMessageSize(core::limits::kRequestBytesMax);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kHeaderBytesMax);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS,
                             static_cast<int>(kHandshakeTimeMax.count()));
  SetKeepalive(builder);
  LimitThreads(builder);
}

}  // namespace lockkeeper::rpc
