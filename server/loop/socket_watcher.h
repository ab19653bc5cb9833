// SPDX-License-Identifier: Apache-2.0
//
// Tells when a socket can be read or written.
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
// Lifetime: may be destroyed by its own callback; close the socket after it. Borrows the loop.
class SocketWatcher {
 public:
  // An error of the socket shows as both events, as far as they are of interest.
  using Callback = absl::AnyInvocable<void(SocketEvents)>;

  SocketWatcher(EventLoop& loop, int socket, Callback on_event);
  ~SocketWatcher();
  SocketWatcher(const SocketWatcher&) = delete;
  SocketWatcher& operator=(const SocketWatcher&) = delete;

  // From now on calls back for these events, again and again as long as they hold.
  void Watch(SocketInterest interest);

 private:
  struct Poll;
  Poll* poll_;
};

}  // namespace lockkeeper::loop
