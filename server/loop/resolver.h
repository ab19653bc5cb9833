// SPDX-License-Identifier: Apache-2.0
//
// Resolves a host name without blocking the loop.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "loop/event_loop.h"

namespace lockkeeper::loop {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;

  // "10.0.0.1:6379", "[::1]:6379", or the path of a unix socket.
  std::string Text() const;
};

// The addresses, in the system's order of preference; or why there are none.
using Resolved = std::variant<std::vector<SocketAddress>, std::string>;

// One query to the system's resolver. The destructor drops the answer.
//
// Thread-safety: loop-thread only. Completion: `done` runs once, after the constructor returned.
// EventLoop::Stop() waits for a query in flight.
class Resolver {
 public:
  Resolver(EventLoop& loop, const std::string& host, uint16_t port,
           absl::AnyInvocable<void(Resolved) &&> done);
  ~Resolver();
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

 private:
  struct Question;
  std::shared_ptr<Question> question_;
};

}  // namespace lockkeeper::loop
