// SPDX-License-Identifier: Apache-2.0
#include "tls/server_identity.h"

#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <ctime>
#include <utility>

#include "core/errors.h"
#include "tls/certificate_text.h"

namespace lockkeeper::tls {
namespace {

std::string Printed(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return "an unreadable time";
  char text[32] = "";
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts);
  return text;
}

// `file` holds the chain.
absl::Status CheckUse(const os::NamedFile& file, const Credentials& credentials) {
  for (const Certificate& certificate : credentials.chain) {
    const ASN1_TIME* const begin = X509_get0_notBefore(certificate.get());
    const ASN1_TIME* const end = X509_get0_notAfter(certificate.get());
    if (X509_cmp_current_time(end) < 0) {
      return FileError(file, "holds a certificate that has expired on " + Printed(end));
    }
    if (X509_cmp_current_time(begin) > 0) {
      return FileError(file, "holds a certificate that is not valid before " + Printed(begin));
    }
  }
  if (X509_check_purpose(credentials.chain.front().get(), X509_PURPOSE_SSL_SERVER, 0) != 1) {
    return FileError(file,
                     "holds a certificate that may not be used by servers (extended key usage)");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::shared_ptr<ServerIdentity>> ServerIdentity::Load(CredentialFiles files) {
  std::shared_ptr<ServerIdentity> identity(new ServerIdentity(std::move(files)));
  const absl::StatusOr<os::Contents> contents = ReadCredentials(identity->files_);
  if (!contents.ok()) return contents.status();
  if (absl::Status status = identity->Use(*contents); !status.ok()) return status;
  return identity;
}

std::shared_ptr<const Credentials> ServerIdentity::current() const {
  const std::lock_guard lock(mutex_);
  return current_;
}

std::string ServerIdentity::Describe() const {
  return DescribeCertificate(current()->chain.front().get());
}

os::Contents ServerIdentity::contents() const { return ContentsOf(*current()); }

text::Problem ServerIdentity::Take(const os::Contents& contents) {
  const absl::Status status = Use(contents);
  return status.ok() ? std::nullopt : text::Problem(status.message());
}

absl::Status ServerIdentity::Use(const os::Contents& contents) {
  absl::StatusOr<Credentials> found = CheckCredentials(files_, contents);
  if (!found.ok()) return found.status();
  if (absl::Status status = CheckUse(files_.certificate, *found); !status.ok()) return status;
  auto next = std::make_shared<const Credentials>(*std::move(found));
  const std::lock_guard lock(mutex_);
  current_ = std::move(next);
  return absl::OkStatus();
}

}  // namespace lockkeeper::tls
