// SPDX-License-Identifier: Apache-2.0
#include "http/connection.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>

namespace lockkeeper::http {
namespace {

constexpr std::string_view kEndOfHeaders = "\r\n\r\n";

}  // namespace

void Connection::Continue() {
  switch (state_) {
    case State::kReading:
      Read();
      break;
    case State::kWriting:
      Write();
      break;
    case State::kClosing:
      Ignore();
      break;
    case State::kDone:
      break;
  }
}

Connection::Io Connection::Judge(ssize_t result) {
  if (result > 0) return Io::kProgress;
  if (result < 0 && (errno == EAGAIN || errno == EINTR)) return Io::kWait;
  return Io::kEnd;
}

void Connection::Read() {
  std::array<char, 4096> buffer;
  const ssize_t count = recv(fd(), buffer.data(), buffer.size(), 0);
  switch (Judge(count)) {
    case Io::kWait:
      return;
    case Io::kEnd:
      state_ = State::kDone;
      return;
    case Io::kProgress:
      break;
  }
  // The end of the headers may begin in what was read before.
  const size_t from =
      request_.size() < kEndOfHeaders.size() ? 0 : request_.size() - kEndOfHeaders.size();
  request_.append(buffer.data(), static_cast<size_t>(count));
  const size_t end = request_.find(kEndOfHeaders, from);
  if (end != std::string::npos && end <= kRequestBytesMax) {
    answer_ = handler_.Answer(std::string_view(request_).substr(0, end + kEndOfHeaders.size()));
  } else if (request_.size() > kRequestBytesMax) {
    answer_ = AnswerToTooLong();
  } else {
    return;
  }
  state_ = State::kWriting;
  Write();
}

void Connection::Write() {
  while (written_ < answer_.size()) {
    const ssize_t count =
        send(fd(), answer_.data() + written_, answer_.size() - written_, MSG_NOSIGNAL);
    const Io io = Judge(count);
    if (io == Io::kWait) return;
    if (io == Io::kEnd) {
      state_ = State::kDone;
      return;
    }
    written_ += static_cast<size_t>(count);
  }
  shutdown(fd(), SHUT_WR);
  state_ = State::kClosing;
}

void Connection::Ignore() {
  std::array<char, 4096> buffer;
  const ssize_t count = recv(fd(), buffer.data(), buffer.size(), 0);
  const Io io = Judge(count);
  if (io == Io::kWait) return;
  ignored_ += io == Io::kProgress ? static_cast<size_t>(count) : 0;
  if (io == Io::kEnd || ignored_ > kIgnoredBytesMax) state_ = State::kDone;
}

}  // namespace lockkeeper::http
