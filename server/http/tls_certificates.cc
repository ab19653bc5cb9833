// SPDX-License-Identifier: Apache-2.0
#include "http/tls_certificates.h"

#include <memory>
#include <string>

namespace lockkeeper::http {
namespace {

thread_local const tls::ServerIdentity* identity_of_thread = nullptr;

gnutls_datum_t DatumOf(const std::string& text) {
  // GnuTLS does not change it.
  auto* const bytes = const_cast<unsigned char*>(  // NOLINT(cppcoreguidelines-pro-type-const-cast)
      reinterpret_cast<const unsigned char*>(text.data()));
  return {.data = bytes, .size = static_cast<unsigned>(text.size())};
}

struct FreeByGnutls {
  void operator()(void* memory) const { gnutls_free(memory); }
};

}  // namespace

void UseForHandshakes(const tls::ServerIdentity* identity) { identity_of_thread = identity; }

// GnuTLS gives so many. NOLINTNEXTLINE(readability-function-size)
int RetrieveCertificate(gnutls_session_t, const gnutls_cert_retr_st*,
                        gnutls_pcert_st** certificates, unsigned* certificates_length,
                        gnutls_ocsp_data_st** ocsp, unsigned* ocsp_length, gnutls_privkey_t* key,
                        unsigned* flags) {
  const auto now = identity_of_thread->current();
  const gnutls_datum_t chain_pem = DatumOf(now->chain_pem);
  const gnutls_datum_t key_pem = DatumOf(now->key_pem);
  auto length = static_cast<unsigned>(now->chain.size());
  // GnuTLS frees all of it after the handshake (GNUTLS_CERT_RETR_DEINIT_ALL), by its own allocator.
  std::unique_ptr<gnutls_pcert_st, FreeByGnutls> chain(
      static_cast<gnutls_pcert_st*>(gnutls_calloc(length, sizeof(gnutls_pcert_st))));
  if (chain == nullptr) return -1;
  if (gnutls_pcert_list_import_x509_raw(chain.get(), &length, &chain_pem, GNUTLS_X509_FMT_PEM, 0) !=
      GNUTLS_E_SUCCESS) {
    return -1;
  }
  if (gnutls_privkey_init(key) != GNUTLS_E_SUCCESS ||
      gnutls_privkey_import_x509_raw(*key, &key_pem, GNUTLS_X509_FMT_PEM, nullptr, 0) !=
          GNUTLS_E_SUCCESS) {
    return -1;
  }
  *certificates = chain.release();
  *certificates_length = length;
  *ocsp = nullptr;
  *ocsp_length = 0;
  *flags |= GNUTLS_CERT_RETR_DEINIT_ALL;
  return 0;
}

}  // namespace lockkeeper::http
