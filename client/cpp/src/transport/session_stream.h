// SPDX-License-Identifier: Apache-2.0
//
// One stream of the rpc Session, as SessionLink needs it. GrpcSessionStream is the real one; tests
// have scripted ones.
#pragma once

#include "absl/status/status.h"
#include "lockkeeper/v1/lock_service.pb.h"

namespace lockkeeper::client {

// The events of a stream. Messages come one at a time and in order; OnEnded comes last.
// Thread-safety: called on any thread.
class SessionEvents {
 public:
  virtual ~SessionEvents() = default;

  // The listener may move out of `message`.
  virtual void OnMessage(v1::SessionResponse& message) = 0;
  // The Write, or CloseWrites, has ended. `ok` does not mean that the daemon got the message. If it
  // is false, nothing more can be written.
  virtual void OnWritten(bool ok) = 0;
  // There are no more messages. OnEnded follows after LetGo.
  virtual void OnUnreadable() = 0;
  virtual void OnEnded(absl::Status status) = 0;
};

// Thread-safety: thread-safe if the requirements are met.
class SessionStream {
 public:
  virtual ~SessionStream() = default;

  // Starts the call and writes its first message, as by Write. Called once.
  virtual void Begin(const v1::SessionRequest& first) = 0;
  // Requires: no write is under way, `message` stays as it is until OnWritten.
  virtual void Write(const v1::SessionRequest& message) = 0;
  // Ends our side of the stream. Requires: as Write. OnWritten follows.
  virtual void CloseWrites() = 0;
  // None of the above will be called any more. Called once, after OnUnreadable.
  virtual void LetGo() = 0;
  // Ends the call soon, even if the connection hangs.
  virtual void Cancel() = 0;
};

}  // namespace lockkeeper::client
