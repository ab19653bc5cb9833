// SPDX-License-Identifier: Apache-2.0
#include "redis/client/transport.h"

#include <hiredis/hiredis.h>
#include <hiredis/sds.h>
#include <sys/socket.h>

#include <new>

namespace lockkeeper::redis {

Transport::Transport(Descriptor socket) {
  redisOptions options{};
  options.type = REDIS_CONN_USERFD;
  options.endpoint.fd = socket.get();
  options.options = REDIS_OPT_NONBLOCK;
  context_ = redisConnectWithOptions(&options);
  if (context_ == nullptr) throw std::bad_alloc();
  socket.release();  // The context closes it.
}

Transport::~Transport() { redisFree(context_); }

int Transport::socket() const { return context_->fd; }

uint64_t Transport::Append(std::string_view bytes) {
  if (redisAppendFormattedCommand(context_, bytes.data(), bytes.size()) != REDIS_OK) {
    throw std::bad_alloc();
  }
  appended_ += bytes.size();
  return appended_;
}

size_t Transport::unwritten() const { return sdslen(context_->obuf); }

Transport::Result Transport::Write() {
  int done = 0;
  if (redisBufferWrite(context_, &done) != REDIS_OK) return Result::kBroken;
  return done != 0 ? Result::kDone : Result::kBlocked;
}

Transport::Result Transport::Read(std::span<char> buffer, size_t& count) {
  count = 0;
  const ssize_t read = context_->funcs->read(context_, buffer.data(), buffer.size());
  if (read < 0) return Result::kBroken;
  count = static_cast<size_t>(read);
  return count == buffer.size() ? Result::kDone : Result::kBlocked;
}

void Transport::Shutdown() { shutdown(context_->fd, SHUT_RDWR); }

std::string Transport::problem() const { return context_->errstr; }

}  // namespace lockkeeper::redis
