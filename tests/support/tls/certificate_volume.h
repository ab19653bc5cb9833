// SPDX-License-Identifier: Apache-2.0
//
// Certificates in a folder as Kubernetes mounts a secret: each file is a symbolic link through one
// to the folder of the current version, and a new version only changes that one.
#pragma once

#include <string>

#include "support/process/temporary_directory.h"
#include "support/tls/test_authority.h"

namespace lockkeeper::support {

// Errors: throws std::filesystem::filesystem_error. Thread-safety: not thread-safe.
class CertificateVolume {
 public:
  CertificateVolume(const TlsFiles& files, const std::string& ca_file);

  // The paths do not change.
  TlsFiles files() const { return {directory_.Path("tls.crt"), directory_.Path("tls.key")}; }
  std::string ca_file() const { return directory_.Path("ca.crt"); }

  // Replaces all files at once.
  void Publish(const TlsFiles& files, const std::string& ca_file);

 private:
  TemporaryDirectory directory_;
  int version_ = 0;
};

}  // namespace lockkeeper::support
