// SPDX-License-Identifier: Apache-2.0
//
// A connected socket in the hands of hiredis: commands are gathered in its output buffer and leave
// in one write, in the clear or through TLS. Nothing here waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "os/descriptor.h"
#include "redis/client/store_problem.h"
#include "redis/client/tls_stream.h"

struct redisContext;  // NOLINT(readability-identifier-naming): hiredis' name

namespace lockkeeper::redis {

// Thread-safety: loop-thread only.
class Transport {
 public:
  // Without `tls` in the clear; `host` is whom the server has to prove to be.
  Transport(os::Descriptor socket, std::shared_ptr<const TlsContext> tls, const std::string& host);
  ~Transport();
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  int socket() const;

  // Puts bytes behind what is to be written. Answers the place of their end in the whole stream.
  uint64_t Append(std::string_view bytes);

  // The place in the stream up to which bytes have been handed to the kernel. What lies behind it
  // can no more have an effect at the other end once the connection is closed.
  uint64_t written() const { return appended_ - unwritten(); }
  size_t unwritten() const;

  using Result = TlsStream::Result;

  // Goes on with the TLS handshake, if there is one. kDone: bytes may be written and read.
  Result Establish();

  // Hands over what was appended: one system call in the clear, one for each record of TLS.
  Result Write();

  // Reads what is there, at most the buffer's size, into it; `count` is what came. kDone: there
  // may be more, and the socket need not show it; kBlocked: that was all.
  Result Read(std::span<char> buffer, size_t& count);

  // Ends the connection for both directions; the descriptor lives on.
  void Shutdown();

  // Whether something waits for the socket to be writable; all else waits for it to be readable.
  bool awaits_writable() const;

  // What broke the connection. The text stands right behind the server's address.
  StoreProblem problem() const;

 private:
  struct ThroughTls;

  redisContext* context_;
  std::unique_ptr<TlsStream> tls_;
  Result tls_written_ = Result::kDone;
  bool write_blocked_ = false;
  uint64_t appended_ = 0;
};

}  // namespace lockkeeper::redis
