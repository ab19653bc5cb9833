// SPDX-License-Identifier: Apache-2.0
#include "support/tls/certificate_volume.h"

#include <filesystem>

namespace lockkeeper::support {

namespace fs = std::filesystem;

CertificateVolume::CertificateVolume(const TlsFiles& files, const std::string& ca_file) {
  Publish(files, ca_file);
  for (const std::string name : {"tls.crt", "tls.key", "ca.crt"}) {
    fs::create_symlink("..data/" + name, directory_.Path(name));
  }
}

void CertificateVolume::Publish(const TlsFiles& files, const std::string& ca_file) {
  const std::string version = "..version" + std::to_string(++version_);
  fs::create_directory(directory_.Path(version));
  fs::copy_file(files.certificate, directory_.Path(version + "/tls.crt"));
  fs::copy_file(files.key, directory_.Path(version + "/tls.key"));
  fs::copy_file(ca_file, directory_.Path(version + "/ca.crt"));
  fs::create_directory_symlink(version, directory_.Path("..next"));
  fs::rename(directory_.Path("..next"), directory_.Path("..data"));
  if (version_ > 1) {
    fs::remove_all(directory_.Path("..version" + std::to_string(version_ - 1)));
  }
}

}  // namespace lockkeeper::support
