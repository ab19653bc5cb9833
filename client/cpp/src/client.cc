// SPDX-License-Identifier: Apache-2.0
#include "lockkeeper/client.h"

#include <unistd.h>

#include <array>
#include <string>
#include <utility>

#include "campaign.h"
#include "client_core.h"
#include "observation.h"
#include "status_payloads.h"

namespace lockkeeper {
namespace {

std::string DefaultOwner() {
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
  return std::string(host.data()) + "/" + std::to_string(getpid());
}

absl::Status CheckOptions(const ClientOptions& options) {
  if (options.addresses.empty() || options.addresses.size() > client::kAddressesMax) {
    return client::InvalidOption("addresses", "give 1 to " + std::to_string(client::kAddressesMax));
  }
  for (const std::string& address : options.addresses) {
    if (absl::Status status = client::CheckAddress(address); !status.ok()) return status;
  }
  if (absl::Status status =
          client::CheckTokenMayBeShown(options.token_file, options.addresses, options.tls);
      !status.ok()) {
    return status;
  }
  if (options.call_timeout.count() <= 0) {
    return client::InvalidOption("call_timeout", "must be positive");
  }
  if (options.release_timeout.count() <= 0) {
    return client::InvalidOption("release_timeout", "must be positive");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Client> Client::Create(ClientOptions options) {
  if (absl::Status status = CheckOptions(options); !status.ok()) return status;
  if (options.owner.empty()) options.owner = DefaultOwner();
  const auto security = client::ChannelSecurity::Load(options.tls);
  if (!security.ok()) return security.status();
  const auto token = client::TokenFile::Open(options.token_file);
  if (!token.ok()) return token.status();
  auto channels = client::Channels::Open(
      options.addresses, client::Channels::Sessions::kUsed, *security, *token,
      options.spread_calls ? client::Spread::kAllDaemons : client::Spread::kOneDaemon);
  return Client(std::make_shared<client::ClientCore>(std::move(options), std::move(channels)));
}

Client::Client(std::shared_ptr<client::ClientCore> core) : core_(std::move(core)) {}
Client::~Client() = default;

AcquireResult Client::Acquire(std::string_view name, const AcquireOptions& options) {
  return core_->Acquire(name, options);
}

absl::Status Client::WithLock(std::string_view name, const AcquireOptions& options,
                              absl::FunctionRef<absl::Status(Lease&)> fn) {
  AcquireResult result = Acquire(name, options);
  if (!result) return result.status();
  Lease lease = std::move(result).TakeLease();
  absl::Status status = fn(lease);
  const bool lost = lease.lost();
  lease.Release().IgnoreError();  // The work is done; what is left ends with the ttl.
  if (!status.ok() || !lost) return status;
  return client::ErrorWithReason(
      absl::StatusCode::kFailedPrecondition, ErrorReason::kLeaseLost,
      "the lease of `" + std::string(name) + "` was lost before the work under it was done");
}

absl::StatusOr<Leadership> Client::Lead(std::string_view name, LeadOptions options) {
  if (absl::Status status = client::Campaign::Check(options); !status.ok()) return status;
  return Leadership(
      std::make_unique<client::Campaign>(core_, std::string(name), std::move(options)));
}

absl::StatusOr<LeaderObserver> Client::Observe(std::string name, ObserveOptions options) {
  // A watch without a name would be one of all locks.
  if (name.empty()) return client::InvalidOption("name", "must not be empty");
  return LeaderObserver(
      std::make_unique<client::Observation>(core_, std::move(name), std::move(options)));
}

absl::StatusOr<Lease> Client::Adopt(std::string_view name, std::string_view lease_id,
                                    const AdoptOptions& options) {
  return core_->Adopt(name, lease_id, options);
}

absl::StatusOr<ReleaseOutcome> Client::Release(std::string_view name, std::string_view lease_id) {
  return core_->Release(name, lease_id);
}

absl::StatusOr<FenceResult> Client::Fence(std::string_view name, int64_t fencing_token,
                                          const FenceOptions& options) {
  return core_->Fence(name, fencing_token, options);
}

}  // namespace lockkeeper
