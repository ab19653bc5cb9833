// SPDX-License-Identifier: Apache-2.0
//
// The client's side of TLS by OpenSSL, to see what a server offers and what it shows.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "os/descriptor.h"
#include "support/tls/test_authority.h"

struct ssl_ctx_st;
struct ssl_st;

namespace lockkeeper::support {

struct TlsClientOptions {
  std::string ca_file;      // Empty: any certificate is taken.
  TlsFiles own = {};        // Shown if the server asks.
  int version_max = 0;      // TLS1_1_VERSION; 0: any.
  std::string alpn = "h2";  // Empty: none.
};

// A connection to 127.0.0.1 whose handshake is over, or has failed.
// Thread-safety: not thread-safe.
class TlsClient {
 public:
  TlsClient(uint16_t port, const TlsClientOptions& options);
  ~TlsClient();
  TlsClient(const TlsClient&) = delete;
  TlsClient& operator=(const TlsClient&) = delete;

  // Why the handshake failed; empty if it succeeded. Under TLS 1.3 a server may refuse our
  // certificate later: Read() tells.
  const std::string& problem() const { return problem_; }
  std::string version() const;
  // The server's certificate in PEM form.
  std::string certificate() const;

  bool Write(std::string_view bytes);
  // All until the end of the connection; `problem` says why it ended, if not in good order.
  std::string ReadAll();

 private:
  os::Descriptor socket_;
  ssl_ctx_st* context_;
  ssl_st* ssl_;
  std::string problem_;
};

}  // namespace lockkeeper::support
