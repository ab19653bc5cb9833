// SPDX-License-Identifier: Apache-2.0
#include "support/tls/certificate_volume.h"

#include <fstream>
#include <sstream>

namespace lockkeeper::support {

MountedFiles::Texts CertificateVolume::TextsOf(const TlsFiles& files, const std::string& ca_file) {
  const auto text_of = [](const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  };
  return {{"tls.crt", text_of(files.certificate)},
          {"tls.key", text_of(files.key)},
          {"ca.crt", text_of(ca_file)}};
}

}  // namespace lockkeeper::support
