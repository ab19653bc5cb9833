// SPDX-License-Identifier: Apache-2.0
//
// Certificates for libmicrohttpd, which speaks TLS by GnuTLS and asks for them at each handshake.
#pragma once

#include <gnutls/abstract.h>

#include "tls/server_identity.h"

namespace lockkeeper::http {

// Sets whose certificate the handshakes of this thread show: GnuTLS' function has no argument for
// it. Lifetime: borrows `identity` until the next call.
void UseForHandshakes(const tls::ServerIdentity* identity);

// For MHD_OPTION_HTTPS_CERT_CALLBACK2.
int RetrieveCertificate(gnutls_session_t session, const gnutls_cert_retr_st* info,
                        gnutls_pcert_st** certificates, unsigned* certificates_length,
                        gnutls_ocsp_data_st** ocsp, unsigned* ocsp_length, gnutls_privkey_t* key,
                        unsigned* flags);

}  // namespace lockkeeper::http
