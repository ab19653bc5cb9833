// SPDX-License-Identifier: Apache-2.0
#include "bench/load/session_stream.h"

namespace lockkeeper::bench {

using google::protobuf::Arena;

SessionStream::SessionStream(const std::shared_ptr<grpc::Channel>& channel) : stub_(channel) {}

void SessionStream::Start() {
  started_ = true;
  stub_.async()->Session(&context_, this);
  AddHold();  // Until nobody writes any more: others than gRPC's threads do.
  Read();
  writing_ = true;
  StartCall();
  WriteNext();
}

void SessionStream::Wake() {
  {
    const std::lock_guard lock(mutex_);
    if (no_more_) return;
    woken_ = true;
    if (writing_) return;
    writing_ = true;
  }
  WriteNext();
}

void SessionStream::Cut() {
  if (!started_) return;
  context_.TryCancel();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return over_; });
}

void SessionStream::Read() {
  response_arena_.Reset();
  response_ = Arena::CreateMessage<v1::SessionResponse>(&response_arena_);
  StartRead(response_);
}

void SessionStream::OnReadDone(bool ok) {
  if (ok && problem_.empty()) {
    problem_ = Take(*response_);
    if (!problem_.empty()) context_.TryCancel();
  }
  if (ok) return Read();
  {
    const std::lock_guard lock(mutex_);
    no_more_ = true;
    if (writing_) return;
  }
  RemoveHold();
}

std::string SessionStream::Take(const v1::SessionResponse& response) {
  if (response.has_opened()) {
    const std::string problem = Handle(response);
    if (problem.empty()) Wake();
    return problem;
  }
  closed_ = response.has_closed();
  return Handle(response);
}

void SessionStream::OnWriteDone(bool) { WriteNext(); }

void SessionStream::WriteNext() {
  request_arena_.Reset();
  auto* request = Arena::CreateMessage<v1::SessionRequest>(&request_arena_);
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      woken_ = false;
      if (no_more_) {
        writing_ = false;
        break;
      }
    }
    bool something = true;
    if (!said_open_) {
      said_open_ = true;
      request->mutable_open()->set_owner("bench");
    } else {
      something = Fill(*request);
    }
    if (something) return StartWrite(request);
    const std::lock_guard lock(mutex_);
    if (woken_) continue;
    writing_ = false;
    if (!no_more_) return;
    break;
  }
  RemoveHold();
}

void SessionStream::OnDone(const grpc::Status& status) {
  if (problem_.empty() && !closed_) {
    problem_ = status.ok() ? "the server ended the session" : status.error_message();
  }
  Ended(problem_);
  const std::lock_guard lock(mutex_);
  over_ = true;
  changed_.notify_all();
}

}  // namespace lockkeeper::bench
