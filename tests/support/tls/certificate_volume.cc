// SPDX-License-Identifier: Apache-2.0
#include "support/tls/certificate_volume.h"

#include "support/process/read_text.h"

namespace lockkeeper::support {

MountedFiles::Texts CertificateVolume::TextsOf(const TlsFiles& files, const std::string& ca_file) {
  return {{"tls.crt", ReadText(files.certificate)},
          {"tls.key", ReadText(files.key)},
          {"ca.crt", ReadText(ca_file)}};
}

}  // namespace lockkeeper::support
