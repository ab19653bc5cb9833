// SPDX-License-Identifier: Apache-2.0
//
// Takes answers from a shard's thread to gRPC's threads, those of a loop turn together.
//
// An answer that is sent from a thread that is not gRPC's own wakes one of gRPC's to see that it
// was sent: for each answer a wake-up, which costs more than the answer. On gRPC's own thread what
// follows an answer is found when the thread looks next.
#pragma once

#include <vector>

#include "core/executor.h"
#include "core/shard.h"

struct grpc_call;

namespace lockkeeper::rpc {

// A call that has its answer, which is still to be sent.
class AnsweredCall {
 public:
  virtual ~AnsweredCall() = default;

  // Runs once, on gRPC's thread. The call may be gone when it returns.
  virtual void SendAnswer() = 0;

  virtual grpc_call* grpc() = 0;
};

// Thread-safety: the shard's thread only. Lifetime: outlives the turns in which it is used.
class AnswerRelay {
 public:
  explicit AnswerRelay(core::Executor& shard) : shard_(shard) {}

  // Sends the answer soon after this turn of the loop. Ownership: `call` lives until it is sent.
  void Send(AnsweredCall& call);

 private:
  void HandOver();

  core::Executor& shard_;
  std::vector<AnsweredCall*> answered_;  // In this turn.
};

// One for each shard.
//
// Thread-safety: thread-safe after construction. Lifetime: borrows `shards`.
class AnswerRelays {
 public:
  explicit AnswerRelays(core::ShardMap& shards);

  AnswerRelay& For(const core::Shard& shard);

 private:
  core::ShardMap& shards_;
  std::vector<AnswerRelay> relays_;
};

}  // namespace lockkeeper::rpc
