// SPDX-License-Identifier: Apache-2.0
//
// The client's end of a session, over gRPC's callback API. At most one message is on its way out:
// what there is to say meanwhile goes together into the next one.
#pragma once

#include <google/protobuf/arena.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/client_callback.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>

#include "lockkeeper/v1/lock_service.grpc.pb.h"

namespace lockkeeper::bench {

// Thread-safety: thread-safe. Lifetime: the destructor of what derives from it calls Cut().
class SessionStream : private grpc::ClientBidiReactor<v1::SessionRequest, v1::SessionResponse> {
 public:
  explicit SessionStream(const std::shared_ptr<grpc::Channel>& channel);
  ~SessionStream() override = default;

  // Opens the session.
  void Start();

 protected:
  // Puts what there is to say into `request`. False: nothing. Called by one thread at a time, which
  // may be another one than Handle's.
  virtual bool Fill(v1::SessionRequest& request) = 0;

  // Takes a message, the first one is `opened`. Not empty: why the session has to be cut.
  virtual std::string Handle(const v1::SessionResponse& response) = 0;

  // The stream is over; empty: well, after its `closed`.
  virtual void Ended(const std::string& problem) = 0;

  // Says that there is something to say.
  void Wake();

  // Ends the stream, however it stands, and waits until it is over.
  void Cut();

 private:
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

  void Read();
  void WriteNext();
  std::string Take(const v1::SessionResponse& response);

  v1::LockService::Stub stub_;
  grpc::ClientContext context_;

  // Of the thread that reads.
  google::protobuf::Arena response_arena_;
  v1::SessionResponse* response_ = nullptr;
  bool closed_ = false;
  std::string problem_;

  // Of the thread that writes.
  google::protobuf::Arena request_arena_;
  bool said_open_ = false;

  std::mutex mutex_;  // Guards the rest.
  std::condition_variable changed_;
  bool writing_ = false;
  bool woken_ = false;    // While writing.
  bool no_more_ = false;  // Nothing can be read any more, so nothing has to be written.
  bool started_ = false;
  bool over_ = false;
};

}  // namespace lockkeeper::bench
