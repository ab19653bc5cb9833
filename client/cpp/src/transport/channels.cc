// SPDX-License-Identifier: Apache-2.0
#include "transport/channels.h"

#include <arpa/inet.h>
#include <grpcpp/create_channel.h>

#include <charconv>
#include <utility>

#include "status_payloads.h"

namespace lockkeeper::client {
namespace {

constexpr char kAddressForms[] = "give `host:port`, `[v6]:port`, `unix:/path` or `tls://host:port`";

bool IsPort(std::string_view text) {
  int port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size() && port >= 1 && port <= 65535;
}

// 127.0.0.0/8
bool IsLoopback(std::string_view host) {
  in_addr address{};
  return inet_pton(AF_INET, std::string(host).c_str(), &address) == 1 &&
         (ntohl(address.s_addr) >> 24) == 127;
}

}  // namespace

grpc::ChannelArguments ChannelSettings(Spread spread) {
  grpc::ChannelArguments arguments;
  // A session, or an acquire that waits, is a stream without data: without pings a proxy, or a
  // daemon that has gone, would not be noticed. The daemon allows a ping every 5 s, also without
  // data.
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 10'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 5'000);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  // A call that no server has seen, because its connection was just ending, gRPC sends again: it is
  // still the same attempt. It repeats no other, since nobody gives it a policy, DNS included.
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 1);
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  // Without this, channels to one address share one connection.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // A daemon that restarts must be found again well within a lease: gRPC's own values are 1 s
  // growing to 120 s, and 20 s for one attempt to connect.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1'000);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 2'000);
  // A name is asked for again when a connection ends. gRPC would wait for 30 s after the last time;
  // daemons that are replaced one after the other have other addresses by then.
  arguments.SetInt(GRPC_ARG_DNS_MIN_TIME_BETWEEN_RESOLUTIONS_MS, 1'000);
  if (spread == Spread::kAllDaemons) arguments.SetLoadBalancingPolicyName("round_robin");
  // A lock daemon is a neighbour, never behind the proxy that the environment names for the web.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return arguments;
}

absl::Status CheckAddress(std::string_view address) {
  const auto wrong = [&] {
    return InvalidOption("addresses",
                         "`" + std::string(address) + "` is not an address: " + kAddressForms);
  };
  if (address.starts_with("unix:")) return address.size() > 5 ? absl::OkStatus() : wrong();
  const std::string target = ChannelSecurity::TargetOf(address);
  const size_t colon = target.rfind(':');
  if (colon == std::string::npos || !IsPort(target.substr(colon + 1))) return wrong();
  const std::string_view host = std::string_view(target).substr(0, colon);
  const bool in_brackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (in_brackets) return absl::OkStatus();
  const bool is_name = !host.empty() && host.find_first_of("[]:/ ") == std::string_view::npos;
  return is_name ? absl::OkStatus() : wrong();
}

bool IsOnThisMachine(std::string_view address) {
  if (address.starts_with("unix:")) return true;
  const std::string_view host = address.substr(0, address.rfind(':'));
  return host == "localhost" || host == "[::1]" || IsLoopback(host);
}

absl::Status CheckTokenMayBeShown(const std::string& token_file,
                                  const std::vector<std::string>& addresses,
                                  const TlsOptions& tls) {
  if (token_file.empty()) return absl::OkStatus();
  for (const std::string& address : addresses) {
    if (IsOnThisMachine(address) || UsesTls(address, tls)) continue;
    return InvalidOption("token_file",
                         "the connection to `" + address +
                             "` is not encrypted, so that anybody on the way could "
                             "read the token; use TLS, or an address of this machine");
  }
  return absl::OkStatus();
}

std::shared_ptr<grpc::Channel> NewChannel(const std::string& address,
                                          const ChannelSecurity& security, Spread spread) {
  grpc::ChannelArguments settings = ChannelSettings(spread);
  security.SetArguments(settings);
  return grpc::CreateCustomChannel(ChannelSecurity::TargetOf(address),
                                   security.CredentialsFor(address), settings);
}

Channels::Channels(std::vector<Endpoint> daemons) : daemons_(std::move(daemons)) {}

std::unique_ptr<Channels> Channels::Open(const std::vector<std::string>& addresses,
                                         Sessions sessions, const ChannelSecurity& security,
                                         const std::shared_ptr<TokenFile>& token, Spread spread) {
  std::vector<Endpoint> daemons;
  for (const std::string& address : addresses) {
    auto others = NewChannel(address, security, spread);
    daemons.push_back(
        {.address = address,
         .acquires = v1::LockService::NewStub(NewChannel(address, security, spread)),
         .others = v1::LockService::NewStub(others),
         .others_channel = others,
         .sessions = sessions == Sessions::kUsed
                         ? v1::LockService::NewStub(NewChannel(address, security, spread))
                         : nullptr,
         .observers = admin::v1::AdminService::NewStub(NewChannel(address, security)),
         .token = token});
  }
  return std::make_unique<Channels>(std::move(daemons));
}

void Channels::Failed(size_t number) {
  current_.compare_exchange_strong(number, (number + 1) % daemons_.size());
}

}  // namespace lockkeeper::client
