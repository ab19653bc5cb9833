// SPDX-License-Identifier: Apache-2.0
#include "redis/client/transport.h"

#include <hiredis/hiredis.h>
#include <hiredis/sds.h>
#include <sys/socket.h>

#include <new>
#include <utility>

namespace lockkeeper::redis {

// What hiredis calls to write its buffer; answers how much of it is gone.
struct Transport::ThroughTls {
  static ssize_t Write(redisContext* context) {
    auto& transport = *static_cast<Transport*>(context->privdata);
    size_t count = 0;
    transport.tls_written_ = transport.tls_->Write({context->obuf, sdslen(context->obuf)}, count);
    return static_cast<ssize_t>(count);
  }

  static const redisContextFuncs* FunctionsLike(const redisContextFuncs& plain) {
    static const redisContextFuncs kFunctions = [&plain] {
      redisContextFuncs functions = plain;
      functions.write = Write;
      return functions;
    }();
    return &kFunctions;
  }
};

Transport::Transport(os::Descriptor socket, std::shared_ptr<const TlsContext> tls,
                     const std::string& host) {
  redisOptions options{};
  options.type = REDIS_CONN_USERFD;
  options.endpoint.fd = socket.get();
  options.options = REDIS_OPT_NONBLOCK;
  context_ = redisConnectWithOptions(&options);
  if (context_ == nullptr) throw std::bad_alloc();
  socket.Release();  // The context closes it.
  if (!tls) return;
  tls_ = std::make_unique<TlsStream>(std::move(tls), context_->fd, host);
  context_->privdata = this;
  context_->funcs = ThroughTls::FunctionsLike(*context_->funcs);
}

Transport::~Transport() {
  tls_.reset();
  redisFree(context_);
}

int Transport::socket() const { return context_->fd; }

uint64_t Transport::Append(std::string_view bytes) {
  if (redisAppendFormattedCommand(context_, bytes.data(), bytes.size()) != REDIS_OK) {
    throw std::bad_alloc();
  }
  appended_ += bytes.size();
  return appended_;
}

size_t Transport::unwritten() const { return sdslen(context_->obuf); }

Transport::Result Transport::Establish() { return tls_ ? tls_->Handshake() : Result::kDone; }

Transport::Result Transport::Write() {
  int done = 0;
  if (redisBufferWrite(context_, &done) != REDIS_OK) return Result::kBroken;
  if (tls_) return tls_written_;
  write_blocked_ = done == 0;
  return write_blocked_ ? Result::kBlocked : Result::kDone;
}

Transport::Result Transport::Read(std::span<char> buffer, size_t& count) {
  if (tls_) return tls_->Read(buffer, count);
  count = 0;
  const ssize_t read = context_->funcs->read(context_, buffer.data(), buffer.size());
  if (read < 0) return Result::kBroken;
  count = static_cast<size_t>(read);
  return count == buffer.size() ? Result::kDone : Result::kBlocked;
}

void Transport::Shutdown() { shutdown(context_->fd, SHUT_RDWR); }

bool Transport::awaits_writable() const { return tls_ ? tls_->awaits_writable() : write_blocked_; }

StoreProblem Transport::problem() const {
  if (tls_) return tls_->problem();
  return {StoreProblem::Kind::kUnreachable, std::string(": ") + context_->errstr};
}

}  // namespace lockkeeper::redis
