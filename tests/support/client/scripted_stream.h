// SPDX-License-Identifier: Apache-2.0
//
// A stream of a session whose other end is the test.
#pragma once

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "transport/session_stream.h"

namespace lockkeeper::client {

// Thread-safety: thread-compatible.
class ScriptedStream final : public SessionStream {
 public:
  explicit ScriptedStream(std::shared_ptr<SessionEvents> events) : events_(std::move(events)) {}

  void Begin(const v1::SessionRequest& first) override { Write(first); }
  void Write(const v1::SessionRequest& message) override {
    ++writes_under_way;
    written.push_back(message);
  }
  void CloseWrites() override {
    ++writes_under_way;
    writes_closed = true;  // Last: a test may wait for it.
  }
  void LetGo() override { ++let_go; }
  void Cancel() override { ++cancels; }

  // Ends the write in flight.
  void FinishWrite(bool ok = true) {
    --writes_under_way;
    events_->OnWritten(ok);
  }

  void Say(v1::SessionResponse message) { events_->OnMessage(message); }

  void SayOpened(int32_t max_outstanding = 1'000) {
    v1::SessionResponse message;
    message.mutable_opened()->set_max_outstanding_operations(max_outstanding);
    Say(std::move(message));
  }

  // Ends the call, with the events in gRPC's order.
  void End(const absl::Status& status) {
    if (writes_under_way > 0) FinishWrite(/*ok=*/false);
    events_->OnUnreadable();
    std::exchange(events_, nullptr)->OnEnded(status);
  }

  // The operations of the last message.
  const google::protobuf::RepeatedPtrField<v1::SessionOperation>& LastBatch() const {
    return written.back().batch().operations();
  }

  std::vector<v1::SessionRequest> written;
  std::atomic<int> writes_under_way = 0;
  std::atomic<bool> writes_closed = false;  // May be read on another thread, as
  int let_go = 0;
  std::atomic<int> cancels = 0;  // this.

 private:
  std::shared_ptr<SessionEvents> events_;
};

}  // namespace lockkeeper::client
