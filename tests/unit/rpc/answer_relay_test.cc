// SPDX-License-Identifier: Apache-2.0
//
// Answers that fall in one turn of the loop leave together, on gRPC's thread.
#include "rpc/answer_relay.h"

#include <grpcpp/client_context.h>
#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <latch>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "lockkeeper/v1/lock_service.grpc.pb.h"
#include "support/rpc/deadline.h"
#include "support/rpc/in_process_server.h"

namespace lockkeeper::rpc {
namespace {

constexpr size_t kCalls = 40;
constexpr std::chrono::seconds kDeadline{20};

class AnswerRelayTest : public testing::Test {
 protected:
  struct Call {
    grpc::ClientContext context;
    v1::FenceRequest request;
    v1::FenceResponse response;
    grpc::Status status;
  };

  AnswerRelayTest() {
    server_.store().on_fence = [this](const core::FenceRequest& request, auto done) {
      held_.emplace_back(request.token, std::move(done));
      arrived_.count_down();
    };
  }

  void Start(size_t number) {
    Call& call = calls_.emplace_back();
    support::SetDeadline(call.context, kDeadline);
    call.request.set_name("lock-" + std::to_string(number));
    call.request.set_fencing_token(static_cast<int64_t>(number) + 1);
    stub_->async()->Fence(&call.context, &call.request, &call.response,
                          [this, &call](grpc::Status status) {
                            call.status = std::move(status);
                            ended_.count_down();
                          });
  }

  void StartAll() {
    for (size_t i = 0; i < kCalls; ++i) Start(i);
    arrived_.wait();
  }

  // In one turn, each with the token that it asked for.
  void AnswerAll() {
    server_.loop().Post([this] {
      for (auto& [token, answer] : held_) {
        std::move(answer)(core::FenceAnswer{core::Verdict::kAdmitted, token});
      }
    });
    ended_.wait();
  }

  std::latch arrived_{kCalls};
  std::latch ended_{kCalls};
  std::deque<Call> calls_;
  std::vector<std::pair<core::FencingToken, core::Done<core::FenceAnswer>>> held_;  // Shard's.
  support::InProcessServer server_;
  std::unique_ptr<v1::LockService::Stub> stub_ = v1::LockService::NewStub(server_.NewChannel());
};

TEST_F(AnswerRelayTest, AnswersOfOneTurnReachTheirOwnCallers) {
  StartAll();
  AnswerAll();

  for (const Call& call : calls_) {
    EXPECT_TRUE(call.status.ok()) << call.status.error_message();
    EXPECT_EQ(call.response.newest_fencing_token(), call.request.fencing_token());
  }
}

TEST_F(AnswerRelayTest, CallersThatLeftDoNotKeepTheOthersFromTheirAnswers) {
  StartAll();
  for (size_t i = 0; i < kCalls; i += 2) calls_[i].context.TryCancel();
  AnswerAll();

  for (size_t i = 1; i < kCalls; i += 2) {
    EXPECT_TRUE(calls_[i].status.ok()) << calls_[i].status.error_message();
    EXPECT_EQ(calls_[i].response.newest_fencing_token(), calls_[i].request.fencing_token());
  }
}

}  // namespace
}  // namespace lockkeeper::rpc
