// SPDX-License-Identifier: Apache-2.0
//
// Certificate, key and CA in a folder that Kubernetes mounts.
#pragma once

#include <string>

#include "support/process/mounted_files.h"
#include "support/tls/test_authority.h"

namespace lockkeeper::support {

// Errors: throws std::filesystem::filesystem_error. Thread-safety: not thread-safe.
class CertificateVolume {
 public:
  CertificateVolume(const TlsFiles& files, const std::string& ca_file)
      : mounted_(TextsOf(files, ca_file)) {}

  // The paths do not change.
  TlsFiles files() const { return {mounted_.Path("tls.crt"), mounted_.Path("tls.key")}; }
  std::string ca_file() const { return mounted_.Path("ca.crt"); }

  // Replaces all files at once.
  void Publish(const TlsFiles& files, const std::string& ca_file) {
    mounted_.Publish(TextsOf(files, ca_file));
  }

 private:
  static MountedFiles::Texts TextsOf(const TlsFiles& files, const std::string& ca_file);

  MountedFiles mounted_;
};

}  // namespace lockkeeper::support
