// SPDX-License-Identifier: Apache-2.0
//
// One HTTP/2 connection of a client that misbehaves: it opens calls, resets them and reads frame by
// frame, which gRPC's own client cannot do.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace lockkeeper::support {

// Errors: throws std::system_error if the connection cannot be made or written to.
// Thread-safety: not thread-safe.
class RawHttp2 {
 public:
  // Connects to 127.0.0.1, from 127.0.0.`host`. `window` is how many bytes of each answer the
  // server may send before we read; with 0 it may never send any.
  RawHttp2(uint16_t port, uint32_t window, uint8_t host = 1);
  ~RawHttp2();
  RawHttp2(const RawHttp2&) = delete;
  RawHttp2& operator=(const RawHttp2&) = delete;

  enum class Body { kComplete, kGoesOn };

  // Opens a call of the rpc "/package.Service/Method" and sends a message, serialized. Answers the
  // number of its stream. Nothing is written before Flush().
  uint32_t Call(const std::string& path, std::string_view message, Body body = Body::kComplete);
  // Opens a call and sends no message.
  uint32_t Open(const std::string& path);
  // Whether the server takes `bytes` more of the stream now. Whoever sends more is cut off.
  bool MaySend(uint32_t stream, size_t bytes) const;
  // Another message of a call that goes on.
  void Send(uint32_t stream, std::string_view message, Body body = Body::kGoesOn);
  // The beginning of a message of `bytes` bytes that never ends.
  void SendPart(uint32_t stream, uint32_t bytes, std::string_view part);
  void Reset(uint32_t stream);
  // False if the server has closed the connection.
  bool Flush();

  // Reads for `time` and answers pings and settings, so that the server takes us for alive.
  // False if the server has closed the connection.
  bool ReadFor(std::chrono::milliseconds time);

  // Calls that have ended by what was read: with trailers, or reset by the server.
  size_t ended() const { return ended_; }

 private:
  void Frame(uint8_t type, uint8_t flags, uint32_t stream, std::string_view payload);
  void Headers(uint32_t stream, const std::string& path);
  void TakeFrames();
  void TakeFrame(uint8_t type, uint8_t flags, uint32_t stream, std::string_view payload);

  int fd_ = -1;
  const uint32_t answer_window_;
  uint32_t next_stream_ = 1;
  std::map<std::string, size_t> paths_;  // In the order of the table of headers, from 1.
  std::string out_;
  std::string in_;
  size_t ended_ = 0;
  int64_t window_;                      // Of each stream at its begin: what the server takes.
  std::map<uint32_t, int64_t> credit_;  // How much more, or less, it takes. Stream 0: of all.
};

}  // namespace lockkeeper::support
