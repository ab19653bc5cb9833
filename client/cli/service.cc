// SPDX-License-Identifier: Apache-2.0
#include "cli/service.h"

#include <grpc/support/log.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "text/duration.h"
#include "transport/channels.h"
#include "transport/token_file.h"

namespace lockkeeper::cli {
namespace {

constexpr milliseconds kReleaseTimeout = std::chrono::seconds(2);

constexpr std::string_view kServerOption = "--server (or LOCKKEEPER_SERVER)";
// By the option of the library.
constexpr auto kOptions = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"tls.ca_file", "--tls-ca (or LOCKKEEPER_TLS_CA)"},
    {"tls.certificate_file", "--tls-cert (or LOCKKEEPER_TLS_CERT)"},
    {"tls.key_file", "--tls-key (or LOCKKEEPER_TLS_KEY)"},
    {"token_file", "--token-file (or LOCKKEEPER_TOKEN_FILE)"},
});

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
       .tls = service.tls,
       .token_file = service.token_file,
       .owner = owner,
       .call_timeout = service.timeout,
       .release_timeout = std::min<milliseconds>(service.timeout, kReleaseTimeout),
       .on_unserved = [&progress](const absl::Status& why) { progress.OnUnserved(why); }});
}

absl::Status CheckService(const Service& service) {
  for (const std::string& server : service.servers) {
    if (absl::Status status = client::CheckAddress(server); !status.ok()) return status;
  }
  if (absl::Status status =
          client::CheckTokenMayBeShown(service.token_file, service.servers, service.tls);
      !status.ok()) {
    return status;
  }
  if (absl::Status status = client::TokenFile::Open(service.token_file).status(); !status.ok()) {
    return status;
  }
  return client::ChannelSecurity::Load(service.tls).status();
}

Report ServerOptionReport(const absl::Status& status) {
  const std::string option = FieldOf(status).value_or("");
  std::string message(status.message());
  if (message.starts_with(option + ": ")) message.erase(0, option.size() + 2);
  const auto* known = std::find_if(kOptions.begin(), kOptions.end(),
                                   [&](const auto& each) { return each.first == option; });
  return UsageReport(std::string(known == kOptions.end() ? kServerOption : known->second) + ": " +
                     message);
}

}  // namespace lockkeeper::cli
