// SPDX-License-Identifier: Apache-2.0
#include "loop/socket_watcher.h"

#include <uv.h>

#include <cstdlib>
#include <utility>

namespace lockkeeper::loop {
namespace {

int UvEvents(SocketInterest interest) {
  switch (interest) {
    case SocketInterest::kRead:
      return UV_READABLE;
    case SocketInterest::kWrite:
      return UV_WRITABLE;
    case SocketInterest::kReadAndWrite:
      return UV_READABLE | UV_WRITABLE;
  }
  std::abort();
}

}  // namespace

// Lives until libuv has closed the handle, a turn after the watcher.
struct SocketWatcher::Poll {
  uv_poll_t handle{};
  Callback on_event;
  int events = 0;
  bool closing = false;

  static void OnEvent(uv_poll_t* handle, int status, int events) {
    auto* poll = static_cast<Poll*>(handle->data);
    if (poll->closing) return;
    if (status < 0) {
      // The next read or write returns the error. libuv has stopped watching; we continue.
      events = poll->events;
      uv_poll_start(handle, events, OnEvent);
    }
    poll->on_event({(events & UV_READABLE) != 0, (events & UV_WRITABLE) != 0});
  }

  static void OnClosed(uv_handle_t* handle) { delete static_cast<Poll*>(handle->data); }
};

SocketWatcher::SocketWatcher(EventLoop& loop, int socket, Callback on_event)
    : poll_(new Poll{.on_event = std::move(on_event)}) {
  poll_->handle.data = poll_;
  // Fails only if `socket` is not an open socket.
  if (uv_poll_init(loop.uv(), &poll_->handle, socket) != 0) std::abort();
}

SocketWatcher::~SocketWatcher() {
  poll_->closing = true;
  uv_close(reinterpret_cast<uv_handle_t*>(&poll_->handle), Poll::OnClosed);
}

void SocketWatcher::Watch(SocketInterest interest) {
  const int events = UvEvents(interest);
  if (events == poll_->events) return;
  poll_->events = events;
  uv_poll_start(&poll_->handle, events, Poll::OnEvent);
}

}  // namespace lockkeeper::loop
