// SPDX-License-Identifier: Apache-2.0
//
// A client's sessions with one daemon. The streams and the unary calls are the test's, time moves
// by hand.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "support/client/manual_time.h"
#include "support/client/scripted_lease_calls.h"
#include "support/client/scripted_stream.h"
#include "transport/session_transport.h"

namespace lockkeeper::client {

// Unary calls, which are only kept.
class QueueingTransport final : public Transport {
 public:
  void Run(PendingOperationPtr operation) override { run.push_back(std::move(operation)); }
  void Cancel(const PendingOperationPtr& operation) override { cancelled.push_back(operation); }

  std::vector<PendingOperationPtr> run;
  std::vector<PendingOperationPtr> cancelled;
};

class SessionTransportTest : public testing::Test {
 protected:
  using Answers = std::map<std::string, OperationAnswer>;

  ~SessionTransportTest() override {
    for (const auto& stream : streams_) {
      if (!ended_.contains(stream.get())) stream->End(absl::CancelledError());
    }
    operations_.Close();
  }

  PendingOperationPtr NewOperation(const std::string& name, v1::SessionOperation request,
                                   Duration timeout) {
    auto operation = std::make_shared<PendingOperation>();
    operation->request = std::move(request);
    operation->deadline = time_.Now() + timeout;
    operation->done = [this, name](OperationAnswer answer) {
      EXPECT_TRUE(answers_.emplace(name, std::move(answer)).second) << name << " ended twice";
    };
    return operation;
  }

  // Runs an extend of the lock `name`.
  PendingOperationPtr Extend(const std::string& name, Duration timeout = std::chrono::seconds(10)) {
    v1::SessionOperation request;
    request.mutable_extend()->set_name(name);
    PendingOperationPtr operation = NewOperation(name, std::move(request), timeout);
    operations_.Run(operation);
    return operation;
  }

  PendingOperationPtr Acquire(const std::string& name, bool waits = true) {
    v1::SessionOperation request;
    request.mutable_acquire()->set_name(name);
    request.mutable_acquire()->set_confirm(true);
    if (waits) request.mutable_acquire()->mutable_wait_timeout()->set_seconds(60);
    PendingOperationPtr operation =
        NewOperation(name, std::move(request), std::chrono::seconds(63));
    operations_.Run(operation);
    return operation;
  }

  // Opens a session and has nothing under way in it.
  ScriptedStream& Opened(int32_t max_outstanding = 1'000) {
    Extend("opens" + std::to_string(streams_.size()));
    ScriptedStream& stream = *streams_.back();
    stream.FinishWrite();
    stream.SayOpened(max_outstanding);
    stream.FinishWrite();
    AnswerLast(stream);
    return stream;
  }

  // The next operation opens a new session, while an acquire waits in the one before; that one is
  // closed once the acquire is answered.
  void ExpectNextInANewSession(ScriptedStream& before) {
    Extend("next");

    ASSERT_EQ(streams_.size(), 2U);
    ScriptedStream& after = *streams_.back();
    after.FinishWrite();
    after.SayOpened(1'000);
    EXPECT_EQ(NamesOf(after), std::vector<std::string>{"next"});
    EXPECT_FALSE(before.writes_closed) << "an acquire waits there";
    AnswerLast(before);
    EXPECT_TRUE(IsAnswered("waits"));
    EXPECT_TRUE(before.writes_closed);
  }

  // Answers the operations of the stream's last message.
  static void AnswerLast(ScriptedStream& stream) {
    v1::SessionResponse message;
    for (const v1::SessionOperation& operation : stream.LastBatch()) {
      v1::SessionResult& result = *message.mutable_results()->add_results();
      result.set_operation_id(operation.id());
      if (operation.has_acquire()) result.mutable_acquire()->mutable_contention();
      if (operation.has_extend()) {
        result.mutable_extend()->mutable_lease()->set_name(operation.extend().name());
      }
    }
    stream.Say(std::move(message));
  }

  void End(ScriptedStream& stream, const absl::Status& status = absl::UnavailableError("reset")) {
    ended_.insert(&stream);
    stream.End(status);
  }

  static std::vector<std::string> NamesOf(const ScriptedStream& stream) {
    std::vector<std::string> names;
    for (const v1::SessionOperation& operation : stream.LastBatch()) {
      names.push_back(operation.extend().name());
    }
    return names;
  }

  bool IsAnswered(const std::string& name) const { return answers_.contains(name); }
  absl::Status StatusOf(const std::string& name) const {
    const auto found = answers_.find(name);
    return found == answers_.end() ? absl::UnknownError("not answered") : found->second.status();
  }

  ManualTime time_;
  FixedJitter jitter_;
  QueueingTransport unary_;
  int drains_ = 0;
  bool closed_before_draining_ = false;    // The session, when its draining was last heard of.
  std::vector<std::string> ended_leases_;  // As the daemon has told, with their names.
  uint64_t token_version_ = 1;
  std::vector<std::shared_ptr<ScriptedStream>> streams_;
  std::set<const ScriptedStream*> ended_;
  Answers answers_;
  SessionTransport operations_{
      {time_, time_, jitter_},
      unary_,
      [this](std::shared_ptr<SessionEvents> events) {
        streams_.push_back(std::make_shared<ScriptedStream>(std::move(events)));
        return streams_.back();
      },
      {.owner = "the tests",
       .on_draining =
           [this] {
             ++drains_;
             closed_before_draining_ = streams_.back()->writes_closed;
           },
       .on_lease_ended =
           [this](const std::string& name, const std::string& lease_id) {
             ended_leases_.push_back(name + ": " + lease_id);
           },
       .token_version = [this] { return token_version_; }}};
};

}  // namespace lockkeeper::client
