// SPDX-License-Identifier: Apache-2.0
//
// A certificate in DER, as another end shows it, in one line for people.
#include <openssl/err.h>
#include <openssl/x509.h>

#include <algorithm>
#include <memory>
#include <string>

#include "fuzz/target.h"
#include "tls/certificate_text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using lockkeeper::fuzz::Require;
  const unsigned char* begin = data;
  const std::unique_ptr<X509, void (*)(X509*)> certificate(
      d2i_X509(nullptr, &begin, static_cast<long>(size)), X509_free);
  ERR_clear_error();
  if (certificate == nullptr) return 0;
  const std::string text = lockkeeper::tls::DescribeCertificate(certificate.get());
  Require(text.find(", valid until ") != std::string::npos, "a certificate has an end");
  Require(std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; }),
          "a certificate is shown in printable characters");
  Require(text.size() <= 4 * size + 100, "the text of a certificate is not much longer than it is");
  Require(ERR_peek_error() == 0, "no error of OpenSSL is left to the next who asks");
  return 0;
}
