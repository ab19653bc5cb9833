// SPDX-License-Identifier: Apache-2.0
#include "http/tls_handshakes.h"

#include <gnutls/x509.h>

#include <memory>
#include <string>
#include <vector>

namespace lockkeeper::http {
namespace {

// Certificates that a client may show, its own included. A chain has three or four.
constexpr unsigned kClientChainMax = 16;

thread_local const tls::ServerIdentity* identity_of_thread = nullptr;
thread_local config::Security security_of_thread = config::Security::kTls;

gnutls_datum_t DatumOf(const std::string& text) {
  // GnuTLS does not change it.
  auto* const bytes = const_cast<unsigned char*>(  // NOLINT(cppcoreguidelines-pro-type-const-cast)
      reinterpret_cast<const unsigned char*>(text.data()));
  return {.data = bytes, .size = static_cast<unsigned>(text.size())};
}

struct FreeByGnutls {
  void operator()(void* memory) const { gnutls_free(memory); }
};

struct FreeTrustList {
  void operator()(gnutls_x509_trust_list_st* list) const { gnutls_x509_trust_list_deinit(list, 1); }
};

struct FreeCertificate {
  void operator()(gnutls_x509_crt_int* certificate) const { gnutls_x509_crt_deinit(certificate); }
};
using Certificate = std::unique_ptr<gnutls_x509_crt_int, FreeCertificate>;

// What the client has shown, its own certificate first. Empty if one cannot be read, or there are
// too many.
std::vector<Certificate> ClientChain(gnutls_session_t session) {
  unsigned length = 0;
  const gnutls_datum_t* const shown = gnutls_certificate_get_peers(session, &length);
  std::vector<Certificate> chain;
  if (shown == nullptr || length > kClientChainMax) return chain;
  for (unsigned i = 0; i < length; ++i) {
    gnutls_x509_crt_t certificate = nullptr;
    if (gnutls_x509_crt_init(&certificate) != GNUTLS_E_SUCCESS) return {};
    chain.emplace_back(certificate);
    if (gnutls_x509_crt_import(certificate, &shown[i], GNUTLS_X509_FMT_DER) != GNUTLS_E_SUCCESS) {
      return {};
    }
  }
  return chain;
}

// 0 if the client may go on. GnuTLS has seen that it has the key of its certificate.
int VerifyClient(gnutls_session_t session) {
  const std::vector<Certificate> owned = ClientChain(session);
  std::vector<gnutls_x509_crt_t> chain;
  chain.reserve(owned.size());
  for (const Certificate& one : owned) chain.push_back(one.get());
  gnutls_x509_trust_list_t list = nullptr;
  if (chain.empty() || gnutls_x509_trust_list_init(&list, 0) != GNUTLS_E_SUCCESS) return -1;
  const std::unique_ptr<gnutls_x509_trust_list_st, FreeTrustList> trusted(list);
  const auto identity = identity_of_thread->current();
  const gnutls_datum_t authorities = DatumOf(identity->authorities_pem);
  if (gnutls_x509_trust_list_add_trust_mem(list, &authorities, nullptr, GNUTLS_X509_FMT_PEM, 0, 0) <
      0) {
    return -1;
  }
  std::string for_clients = GNUTLS_KP_TLS_WWW_CLIENT;
  gnutls_typed_vdata_st purpose{.type = GNUTLS_DT_KEY_PURPOSE_OID,
                                .data = reinterpret_cast<unsigned char*>(for_clients.data()),
                                .size = 0};
  unsigned faults = 0;
  const int verified = gnutls_x509_trust_list_verify_crt2(
      list, chain.data(), static_cast<unsigned>(chain.size()), &purpose, 1, 0, &faults, nullptr);
  return verified == GNUTLS_E_SUCCESS && faults == 0 ? 0 : -1;
}

}  // namespace

void UseForHandshakes(const tls::ServerIdentity* identity, config::Security security) {
  identity_of_thread = identity;
  security_of_thread = security;
}

// GnuTLS gives so many. NOLINTNEXTLINE(readability-function-size)
int PrepareHandshake(gnutls_session_t session, const gnutls_cert_retr_st*,
                     gnutls_pcert_st** certificates, unsigned* certificates_length,
                     gnutls_ocsp_data_st** ocsp, unsigned* ocsp_length, gnutls_privkey_t* key,
                     unsigned* flags) {
  if (security_of_thread == config::Security::kMutualTls) {
    gnutls_certificate_server_set_request(session, GNUTLS_CERT_REQUIRE);
    gnutls_session_set_verify_function(session, &VerifyClient);
  }
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
