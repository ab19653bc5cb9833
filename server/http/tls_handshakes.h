// SPDX-License-Identifier: Apache-2.0
//
// Handshakes of libmicrohttpd, which speaks TLS by GnuTLS: the certificate that they show, and with
// mutual TLS, whose certificates they accept.
#pragma once

#include <gnutls/abstract.h>

#include "config/listen_address.h"
#include "tls/server_identity.h"

namespace lockkeeper::http {

// Sets what the handshakes of this thread use: GnuTLS' functions have no argument for it.
// Lifetime: borrows `identity` until the next call.
void UseForHandshakes(const tls::ServerIdentity* identity, config::Security security);

// For MHD_OPTION_HTTPS_CERT_CALLBACK2, so called in each handshake. With mutual TLS it also asks
// the client for a certificate for clients that one of the identity's authorities has signed, and
// the handshake of a client without one fails.
int PrepareHandshake(gnutls_session_t session, const gnutls_cert_retr_st* info,
                     gnutls_pcert_st** certificates, unsigned* certificates_length,
                     gnutls_ocsp_data_st** ocsp, unsigned* ocsp_length, gnutls_privkey_t* key,
                     unsigned* flags);

}  // namespace lockkeeper::http
