// SPDX-License-Identifier: Apache-2.0
//
// Accepts connections on a thread of its own. When the process has no descriptor left, it pauses
// and tries again: gRPC 1.51 would never accept again, libmicrohttpd would spin.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "core/clock.h"
#include "core/types.h"
#include "os/descriptor.h"

namespace lockkeeper::listen {

// Called on the thread of the loop.
struct AcceptHandlers {
  // A new connection on the listening socket of that index; its own socket does not block.
  std::function<void(os::Descriptor, size_t listening)> on_connection;
  // A connection could not be accepted because descriptors or memory ran out; `error` is an errno.
  // The loop then pauses for a moment. May be null.
  std::function<void(int error)> on_shortage;
  // The loop is about to wait. Returns the longest time to wait; a negative time means no limit.
  std::function<core::Millis()> before_wait;
};

// Thread-safety: thread-compatible. Lifetime: borrows `clock`.
class AcceptLoop {
 public:
  // `wake`: a descriptor that ends the wait when it is readable; -1 for none.
  AcceptLoop(const std::string& thread_name, std::vector<os::Descriptor> listening, int wake,
             AcceptHandlers handlers, const core::Clock& clock);
  // Ends the thread, and closes the listening sockets.
  ~AcceptLoop();
  AcceptLoop(const AcceptLoop&) = delete;
  AcceptLoop& operator=(const AcceptLoop&) = delete;

  // Accepts nothing for `time`; new connections wait in the backlog. Call it on the loop's thread.
  void Pause(core::Millis time) { accept_from_ = clock_.Now() + time; }

 private:
  // False if the loop must stop.
  bool Turn();
  void AcceptFrom(size_t listening);

  const std::vector<os::Descriptor> listening_;
  const int wake_;
  const AcceptHandlers handlers_;
  const core::Clock& clock_;
  core::Instant accept_from_ = core::Instant::min();
  const os::Descriptor stop_;
  std::thread thread_;  // Last: it uses all of the above.
};

}  // namespace lockkeeper::listen
