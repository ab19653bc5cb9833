// SPDX-License-Identifier: Apache-2.0
//
// One client: reads one request, writes its answer, closes. Never blocks.
//
// state    | until
// kReading | the headers are complete, too long, or the client is gone
// kWriting | the answer is written, or the client is gone
// kClosing | the client has closed too: what it still sends is read and dropped, because closing
//          | before that would take the answer away from it (TCP answers unread bytes with a reset)
// kDone    |
#pragma once

#include <cstddef>
#include <string>

#include "core/types.h"
#include "http/request_handler.h"
#include "os/descriptor.h"

namespace lockkeeper::http {

// Bytes of a request up to the empty line after its headers. Prometheus sends a few hundred.
inline constexpr size_t kRequestBytesMax = 16 * 1024;
// Bytes that a client may send after them.
inline constexpr size_t kIgnoredBytesMax = 1024 * 1024;

// Thread-safety: loop-thread only. Lifetime: borrows `handler`.
class Connection {
 public:
  // `deadline`: when its owner drops it, whatever its state.
  Connection(os::Descriptor socket, RequestHandler& handler, core::Instant deadline)
      : socket_(std::move(socket)), handler_(handler), deadline_(deadline) {}

  int fd() const { return socket_.get(); }
  core::Instant deadline() const { return deadline_; }
  bool done() const { return state_ == State::kDone; }
  // Whether it waits for room to write; else it waits for something to read.
  bool wants_to_write() const { return state_ == State::kWriting; }

  // Goes on as far as possible without waiting.
  void Continue();

 private:
  enum class State { kReading, kWriting, kClosing, kDone };

  void Read();
  void Write();
  void Ignore();

  // What read() and write() answered; done if the client is gone.
  enum class Io { kProgress, kWait, kEnd };
  static Io Judge(ssize_t result);

  os::Descriptor socket_;
  RequestHandler& handler_;
  core::Instant deadline_;
  State state_ = State::kReading;
  std::string request_;
  std::string answer_;
  size_t written_ = 0;
  size_t ignored_ = 0;
};

}  // namespace lockkeeper::http
