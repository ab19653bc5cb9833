// SPDX-License-Identifier: Apache-2.0
//
// A connected socket in the hands of hiredis: commands are gathered in its output buffer and leave
// in one write; TLS, when it comes, is a property of the same context. Nothing here waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "redis/client/descriptor.h"

struct redisContext;  // NOLINT(readability-identifier-naming): hiredis' name

namespace lockkeeper::redis {

// Thread-safety: loop-thread only.
class Transport {
 public:
  explicit Transport(Descriptor socket);
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

  enum class Result { kDone, kBlocked, kBroken };

  // Hands over what was appended: one system call.
  Result Write();

  // Reads what is there, at most the buffer's size, into it; `count` is what came. kDone: there
  // may be more; kBlocked: that was all.
  Result Read(std::span<char> buffer, size_t& count);

  // Ends the connection for both directions; the descriptor lives on.
  void Shutdown();

  // What broke the connection, for people.
  std::string problem() const;

 private:
  redisContext* context_;
  uint64_t appended_ = 0;
};

}  // namespace lockkeeper::redis
