// SPDX-License-Identifier: Apache-2.0
#include "transport/channel_security.h"

#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>

#include "os/read_file.h"
#include "status_payloads.h"

namespace lockkeeper::client {
namespace {

constexpr size_t kFileBytesMax = size_t{1} << 20;
constexpr unsigned kWatchSeconds = 1;
constexpr std::string_view kCertificateLine = "-----BEGIN CERTIFICATE-----";
constexpr std::string_view kKeyLine = "PRIVATE KEY-----";

// A file that is not given is right.
absl::Status CheckFile(std::string_view option, const std::string& path, std::string_view line) {
  if (path.empty()) return absl::OkStatus();
  std::string text;
  if (const text::Problem problem = os::ReadFile(path, kFileBytesMax, text)) {
    return InvalidOption(option, "\"" + path + "\" " + *problem);
  }
  if (text.find(line) != std::string::npos) return absl::OkStatus();
  return InvalidOption(option, "\"" + path + "\" has no line with \"" + std::string(line) +
                                   "\": it must be in PEM form");
}

absl::Status CheckFiles(const TlsOptions& tls) {
  if (tls.certificate_file.empty() != tls.key_file.empty()) {
    return tls.key_file.empty() ? InvalidOption("tls.certificate_file", "needs its key too")
                                : InvalidOption("tls.key_file", "needs its certificate too");
  }
  absl::Status status = CheckFile("tls.ca_file", tls.ca_file, kCertificateLine);
  status.Update(CheckFile("tls.certificate_file", tls.certificate_file, kCertificateLine));
  status.Update(CheckFile("tls.key_file", tls.key_file, kKeyLine));
  return status;
}

std::shared_ptr<grpc::ChannelCredentials> MakeCredentials(const TlsOptions& tls) {
  using Provider = grpc::experimental::FileWatcherCertificateProvider;
  const bool shows = !tls.certificate_file.empty();
  std::shared_ptr<Provider> provider;
  if (shows) {
    provider =
        std::make_shared<Provider>(tls.key_file, tls.certificate_file, tls.ca_file, kWatchSeconds);
  } else if (!tls.ca_file.empty()) {
    provider = std::make_shared<Provider>(tls.ca_file, kWatchSeconds);
  }
  grpc::experimental::TlsChannelCredentialsOptions options;
  if (provider != nullptr) options.set_certificate_provider(provider);
  if (!tls.ca_file.empty()) options.watch_root_certs();  // Else gRPC takes those of the system.
  if (shows) options.watch_identity_key_cert_pairs();
  return grpc::experimental::TlsCredentials(options);
}

}  // namespace

bool UsesTls(std::string_view address, const TlsOptions& tls) {
  if (address.starts_with(kTlsScheme)) return true;
  if (address.starts_with("unix:")) return false;
  return !tls.ca_file.empty() || !tls.certificate_file.empty() || !tls.key_file.empty() ||
         !tls.server_name.empty();
}

absl::StatusOr<ChannelSecurity> ChannelSecurity::Load(const TlsOptions& tls) {
  if (absl::Status status = CheckFiles(tls); !status.ok()) return status;
  ChannelSecurity security;
  security.tls_ = tls;
  security.secure_ = MakeCredentials(tls);
  return security;
}

std::shared_ptr<grpc::ChannelCredentials> ChannelSecurity::CredentialsFor(
    std::string_view address) const {
  return UsesTls(address, tls_) ? secure_ : grpc::InsecureChannelCredentials();
}

std::string ChannelSecurity::TargetOf(std::string_view address) {
  if (address.starts_with(kTlsScheme)) address.remove_prefix(kTlsScheme.size());
  return std::string(address);
}

void ChannelSecurity::SetArguments(grpc::ChannelArguments& arguments) const {
  if (!tls_.server_name.empty()) arguments.SetSslTargetNameOverride(tls_.server_name);
}

}  // namespace lockkeeper::client
