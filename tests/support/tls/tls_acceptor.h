// SPDX-License-Identifier: Apache-2.0
//
// The server's side of TLS on sockets that wait, for servers of a test's own.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <string_view>

#include "support/tls/test_authority.h"

struct ssl_ctx_st;
struct ssl_st;

namespace lockkeeper::support {

// One session. Lifetime: borrows the socket. Thread-safety: not thread-safe.
class TlsServerStream {
 public:
  explicit TlsServerStream(ssl_st* ssl) : ssl_(ssl) {}
  ~TlsServerStream();
  TlsServerStream(const TlsServerStream&) = delete;
  TlsServerStream& operator=(const TlsServerStream&) = delete;

  bool WriteAll(std::string_view bytes);
  // 0 or less: that was the end.
  ssize_t Read(char* buffer, size_t size);

 private:
  ssl_st* const ssl_;
};

// Errors: the constructor throws std::runtime_error. Thread-safety: Accept is thread-safe; it
// blocks SIGPIPE on its thread.
class TlsAcceptor {
 public:
  explicit TlsAcceptor(const TlsFiles& own);
  ~TlsAcceptor();
  TlsAcceptor(const TlsAcceptor&) = delete;
  TlsAcceptor& operator=(const TlsAcceptor&) = delete;

  // The handshake. Null if it failed.
  std::unique_ptr<TlsServerStream> Accept(int socket) const;

 private:
  ssl_ctx_st* const context_;
};

}  // namespace lockkeeper::support
