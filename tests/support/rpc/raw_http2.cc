// SPDX-License-Identifier: Apache-2.0
#include "support/rpc/raw_http2.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

namespace lockkeeper::support {
namespace {

// Of RFC 9113.
constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
enum FrameType : uint8_t {
  kData = 0,
  kHeaders = 1,
  kRstStream = 3,
  kSettings = 4,
  kPing = 6,
  kWindowUpdate = 8,
};
constexpr uint8_t kEndStream = 1;
constexpr uint8_t kAck = 1;
constexpr uint8_t kEndHeaders = 4;
constexpr uint16_t kInitialWindowSize = 4;
constexpr int64_t kDefaultWindow = 65'535;
constexpr uint32_t kCancel = 8;
constexpr size_t kFrameHeader = 9;
constexpr size_t kMessageHeader = 5;  // Of gRPC.

// Of RFC 7541, its static table and representations.
constexpr char kMethodPost = '\x83';
constexpr char kSchemeHttp = '\x86';
constexpr char kAddPath = '\x44';  // A literal that is added to the table, with the name ":path".
constexpr char kAddAuthority = '\x41';
constexpr char kAddNew = '\x40';
constexpr size_t kStaticEntries = 61;
constexpr uint8_t kIndexed = 0x80;

void AppendNumber(std::string& to, uint32_t number, int bytes) {
  for (int i = bytes - 1; i >= 0; --i) to.push_back(static_cast<char>(number >> (8 * i) & 0xff));
}

uint32_t NumberAt(std::string_view text, size_t at, size_t bytes) {
  uint32_t number = 0;
  for (size_t i = 0; i < bytes; ++i) number = number << 8 | static_cast<uint8_t>(text[at + i]);
  return number;
}

// Shorter than 127 bytes, without Huffman coding.
void AppendText(std::string& to, std::string_view text) {
  to.push_back(static_cast<char>(text.size()));
  to.append(text);
}

// With a header that says that the message has `bytes` bytes.
std::string Message(std::string_view message, size_t bytes) {
  std::string framed(1, '\0');  // Not compressed.
  AppendNumber(framed, static_cast<uint32_t>(bytes), 4);
  return framed.append(message);
}

[[noreturn]] void Fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

}  // namespace

RawHttp2::RawHttp2(uint16_t port, uint32_t window, uint8_t host)
    : answer_window_(window), window_(kDefaultWindow) {
  fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK - 1 + host);
  if (fd_ < 0 || bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    Fail("bind");
  }
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  if (connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    Fail("connect");
  }
  out_ = kPreface;
  std::string settings;
  AppendNumber(settings, kInitialWindowSize, 2);
  AppendNumber(settings, window, 4);
  Frame(kSettings, 0, 0, settings);
}

RawHttp2::~RawHttp2() {
  if (fd_ >= 0) close(fd_);
}

void RawHttp2::Frame(uint8_t type, uint8_t flags, uint32_t stream, std::string_view payload) {
  AppendNumber(out_, static_cast<uint32_t>(payload.size()), 3);
  out_.push_back(static_cast<char>(type));
  out_.push_back(static_cast<char>(flags));
  AppendNumber(out_, stream, 4);
  out_.append(payload);
}

// As few bytes as a server takes: all but the first call of a path name entries of the table.
void RawHttp2::Headers(uint32_t stream, const std::string& path) {
  std::string block = {kMethodPost, kSchemeHttp};
  // Entries are counted from the newest one: those that all calls have are the oldest three.
  const size_t common = 3;
  const bool first = paths_.empty();
  const bool known = paths_.contains(path);
  if (first) {
    block.push_back(kAddAuthority);
    AppendText(block, "localhost");
    block.push_back(kAddNew);
    AppendText(block, "content-type");
    AppendText(block, "application/grpc");
    block.push_back(kAddNew);
    AppendText(block, "te");
    AppendText(block, "trailers");
  }
  if (!known) {
    block.push_back(kAddPath);
    AppendText(block, path);
    paths_.emplace(path, paths_.size() + 1);
  }
  const size_t entries = common + paths_.size();
  const auto add_entry = [&](size_t number) {  // From 1, the oldest.
    block.push_back(static_cast<char>(kIndexed | (kStaticEntries + entries - number + 1)));
  };
  if (!first) {
    for (size_t i = 1; i <= common; ++i) add_entry(i);
  }
  if (known) add_entry(common + paths_.at(path));
  Frame(kHeaders, kEndHeaders, stream, block);
}

uint32_t RawHttp2::Open(const std::string& path) {
  const uint32_t stream = next_stream_;
  next_stream_ += 2;
  Headers(stream, path);
  return stream;
}

uint32_t RawHttp2::Call(const std::string& path, std::string_view message, Body body) {
  const uint32_t stream = Open(path);
  Send(stream, message, body);
  return stream;
}

bool RawHttp2::MaySend(uint32_t stream, size_t bytes) const {
  const auto credit = [this](uint32_t of) {
    const auto found = credit_.find(of);
    return found == credit_.end() ? 0 : found->second;
  };
  const auto needed = static_cast<int64_t>(bytes + kMessageHeader);
  return window_ + credit(stream) >= needed && kDefaultWindow + credit(0) >= needed;
}

void RawHttp2::Send(uint32_t stream, std::string_view message, Body body) {
  const auto bytes = static_cast<int64_t>(message.size() + kMessageHeader);
  credit_[stream] -= bytes;
  credit_[0] -= bytes;
  Frame(kData, body == Body::kComplete ? kEndStream : 0, stream, Message(message, message.size()));
}

void RawHttp2::SendPart(uint32_t stream, uint32_t bytes, std::string_view part) {
  const auto sent = static_cast<int64_t>(part.size() + kMessageHeader);
  credit_[stream] -= sent;
  credit_[0] -= sent;
  constexpr size_t kFrameMax = 16'384;
  const std::string message = Message(part, bytes);
  for (size_t at = 0; at < message.size(); at += kFrameMax) {
    Frame(kData, 0, stream, std::string_view(message).substr(at, kFrameMax));
  }
}

void RawHttp2::Reset(uint32_t stream) {
  std::string code;
  AppendNumber(code, kCancel, 4);
  Frame(kRstStream, 0, stream, code);
}

bool RawHttp2::Flush() {
  size_t written = 0;
  while (written < out_.size()) {
    // A server that has closed the connection with a full window resets it only after a minute.
    pollfd ready{.fd = fd_, .events = POLLOUT | POLLRDHUP, .revents = 0};
    if (poll(&ready, 1, -1) > 0 && (ready.revents & (POLLRDHUP | POLLHUP)) != 0) return false;
    const ssize_t count =
        send(fd_, out_.data() + written, out_.size() - written, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count < 0 && (errno == EPIPE || errno == ECONNRESET)) return false;
    if (count < 0) Fail("send");
    written += static_cast<size_t>(count);
  }
  out_.clear();
  return true;
}

bool RawHttp2::ReadFor(std::chrono::milliseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (true) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    pollfd ready{.fd = fd_, .events = POLLIN, .revents = 0};
    if (poll(&ready, 1, std::max<int>(static_cast<int>(left.count()), 0)) <= 0) return true;
    std::array<char, 65536> buffer;
    const ssize_t count = recv(fd_, buffer.data(), buffer.size(), 0);
    if (count <= 0) return false;
    in_.append(buffer.data(), static_cast<size_t>(count));
    TakeFrames();
    if (!Flush()) return false;
  }
}

void RawHttp2::TakeFrames() {
  size_t at = 0;
  while (in_.size() - at >= kFrameHeader) {
    const size_t length = NumberAt(in_, at, 3);
    if (in_.size() - at < kFrameHeader + length) break;
    TakeFrame(static_cast<uint8_t>(in_[at + 3]), static_cast<uint8_t>(in_[at + 4]),
              NumberAt(in_, at + 5, 4), std::string_view(in_).substr(at + kFrameHeader, length));
    at += kFrameHeader + length;
  }
  in_.erase(0, at);
}

void RawHttp2::TakeFrame(uint8_t type, uint8_t flags, uint32_t stream, std::string_view payload) {
  if (type == kHeaders && (flags & kEndStream) != 0) ++ended_;
  if (type == kRstStream) ++ended_;
  if (type == kPing && (flags & kAck) == 0) Frame(kPing, kAck, 0, payload);
  if (type == kData && answer_window_ > 0 && !payload.empty()) {
    for (const uint32_t of : {0U, stream}) {
      std::string taken;
      AppendNumber(taken, static_cast<uint32_t>(payload.size()), 4);
      Frame(kWindowUpdate, 0, of, taken);
    }
  }
  if (type == kWindowUpdate) credit_[stream] += NumberAt(payload, 0, 4);
  if (type != kSettings || (flags & kAck) != 0) return;
  for (size_t at = 0; at + 6 <= payload.size(); at += 6) {
    if (NumberAt(payload, at, 2) == kInitialWindowSize) window_ = NumberAt(payload, at + 2, 4);
  }
  Frame(kSettings, kAck, 0, "");
}

}  // namespace lockkeeper::support
