// SPDX-License-Identifier: Apache-2.0
//
// One stream of the rpc Session, as a session link needs it. The real one is GrpcSessionStream;
// tests script theirs.
#pragma once

#include "absl/status/status.h"
#include "lockkeeper/v1/lock_service.pb.h"

namespace lockkeeper::client {

// What a stream tells. One message at a time, in order; OnEnded comes last.
// Thread-safety: called on any thread.
class SessionEvents {
 public:
  virtual ~SessionEvents() = default;

  // `message` may be taken apart.
  virtual void OnMessage(v1::SessionResponse& message) = 0;
  // The Write, or CloseWrites, is over. `ok` says nothing about the daemon; if it is false, nothing
  // can be written any more.
  virtual void OnWritten(bool ok) = 0;
  // Nothing comes any more: OnEnded follows the LetGo.
  virtual void OnUnreadable() = 0;
  virtual void OnEnded(absl::Status status) = 0;
};

// Thread-safety: thread-safe as long as the requirements are kept.
class SessionStream {
 public:
  virtual ~SessionStream() = default;

  // Starts the call with this as its first message, as by Write. Called once.
  virtual void Begin(const v1::SessionRequest& first) = 0;
  // Requires: no write is under way, `message` stays as it is until OnWritten.
  virtual void Write(const v1::SessionRequest& message) = 0;
  // Says that no more is written. Requires: as Write. OnWritten follows.
  virtual void CloseWrites() = 0;
  // Says that none of the above will be called any more. Called once, after OnUnreadable.
  virtual void LetGo() = 0;
  // Ends the call soon, whatever becomes of the connection.
  virtual void Cancel() = 0;
};

}  // namespace lockkeeper::client
