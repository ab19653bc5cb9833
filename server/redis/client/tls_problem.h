// SPDX-License-Identifier: Apache-2.0
//
// Says in words why a TLS connection failed: who has to change what, or that it may pass.
#pragma once

#include <string>

#include "redis/client/store_problem.h"

namespace lockkeeper::redis {

// What is known of the failure.
struct TlsEvidence {
  std::string expected_name;    // What the server's certificate has to be for.
  std::string own_certificate;  // File of ours; empty: none.
  bool established = false;     // The handshake had succeeded.
  bool was_asked = false;       // The server asked for a certificate of ours.
  bool closed = false;          // The server ended the session in good order.
  long verify_error = 0;        // X509_V_ERR_... of the server's certificate; 0: it was good.
  std::string certificate;      // The one that it is about.
  int system_error = 0;         // errno of the socket.
  unsigned long code = 0;       // Of OpenSSL's error queue.
};

// Refused: the server's certificate, ours, versions and ciphers. Unreachable: all that may pass by
// itself, and a server that seems to speak something else, since that cannot be told from a broken
// one. The text stands right behind the server's address.
StoreProblem ProblemOfTls(const TlsEvidence& evidence);

}  // namespace lockkeeper::redis
