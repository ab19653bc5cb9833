// SPDX-License-Identifier: Apache-2.0
//
// TLS on one connected, non-blocking socket: our side of the handshake, then bytes in and out.
// Straight on OpenSSL and not by hiredis' own layer, which does not tell what a blocked call waits
// for, nor why a handshake failed, and checks no host name (docs/adr/0011).
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "redis/client/store_problem.h"
#include "redis/client/tls_context.h"
#include "redis/client/tls_problem.h"

struct ssl_st;  // NOLINT(readability-identifier-naming): OpenSSL's name

namespace lockkeeper::redis {

// Thread-safety: not thread-safe. Lifetime: borrows the socket.
class TlsStream {
 public:
  // `host` is what the URL says: a name or an address.
  TlsStream(std::shared_ptr<const TlsContext> context, int socket, const std::string& host);
  ~TlsStream();
  TlsStream(const TlsStream&) = delete;
  TlsStream& operator=(const TlsStream&) = delete;

  enum class Result { kDone, kBlocked, kBroken };

  // Goes on with the handshake. Bytes may be written and read once it is kDone.
  Result Handshake();

  // Encrypts and hands to the kernel as much of `bytes` as it takes. `count` is how many of them
  // are in records that the kernel has as a whole: no other byte can have an effect at the other
  // end. After kBlocked the rest comes again, with or without more behind it.
  Result Write(std::string_view bytes, size_t& count);

  // Reads what is there, at most the buffer's size. kDone: there may be more, and the socket need
  // not show it; kBlocked: that was all.
  Result Read(std::span<char> buffer, size_t& count);

  // Whether something waits for the socket to be writable; all else waits for it to be readable.
  bool awaits_writable() const { return write_awaits_writable_ || read_awaits_writable_; }

  // Why a call returned kBroken. The text stands right behind the server's address.
  const StoreProblem& problem() const { return problem_; }

 private:
  struct Callbacks;

  Result Judge(int outcome, bool& awaits_writable);

  const std::shared_ptr<const TlsContext> context_;
  ssl_st* const ssl_;
  TlsEvidence evidence_;
  bool established_ = false;
  bool write_awaits_writable_ = false;
  bool read_awaits_writable_ = false;
  StoreProblem problem_;
};

}  // namespace lockkeeper::redis
