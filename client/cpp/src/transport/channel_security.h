// SPDX-License-Identifier: Apache-2.0
//
// How the connections of a client are secured: without TLS, or by the files of its TlsOptions.
#pragma once

#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "lockkeeper/options.h"

namespace lockkeeper::client {

// `tls://host:port` asks for TLS; gRPC does not know the scheme.
inline constexpr std::string_view kTlsScheme = "tls://";

// Whether the connection to `address` is made over TLS: if the address says so, or any of the
// options is given. Never to a unix socket.
bool UsesTls(std::string_view address, const TlsOptions& tls);

// Thread-safety: thread-safe.
class ChannelSecurity {
 public:
  // No TLS.
  ChannelSecurity() = default;

  // Errors: INVALID_ARGUMENT that names the option and the file that cannot be used.
  static absl::StatusOr<ChannelSecurity> Load(const TlsOptions& tls);

  // For gRPC. The files are read again when they change.
  std::shared_ptr<grpc::ChannelCredentials> CredentialsFor(std::string_view address) const;
  // The address without its scheme.
  static std::string TargetOf(std::string_view address);
  void SetArguments(grpc::ChannelArguments& arguments) const;

 private:
  TlsOptions tls_;
  std::shared_ptr<grpc::ChannelCredentials> secure_;  // Shared: each watches its files.
};

}  // namespace lockkeeper::client
