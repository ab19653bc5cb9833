// SPDX-License-Identifier: Apache-2.0
//
// Calls back when a socket can be read or written.
#pragma once

#include <memory>

#include "absl/functional/any_invocable.h"
#include "loop/event_loop.h"

namespace lockkeeper::loop {

struct SocketEvents {
  bool readable = false;
  bool writable = false;
};

enum class SocketInterest { kRead, kWrite, kReadAndWrite };

// Thread-safety: loop-thread only.
// Lifetime: borrows the loop. Its own callback may destroy it. Close the socket after it.
class SocketWatcher {
 public:
  // An error of the socket sets both events, if they are watched.
  using Callback = absl::AnyInvocable<void(SocketEvents)>;

  SocketWatcher(EventLoop& loop, int socket, Callback on_event);
  ~SocketWatcher();
  SocketWatcher(const SocketWatcher&) = delete;
  SocketWatcher& operator=(const SocketWatcher&) = delete;

  // From now on watches these events. Level-triggered: calls back as long as they hold.
  void Watch(SocketInterest interest);

 private:
  struct Poll;
  Poll* poll_;
};

}  // namespace lockkeeper::loop
