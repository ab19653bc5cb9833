// SPDX-License-Identifier: Apache-2.0
#include "rpc/answer_relay.h"

#include <grpc/grpc.h>

#include <memory>
#include <utility>

namespace lockkeeper::rpc {
namespace {

// The answers of a turn, as gRPC's completion queue runs it.
struct Batch : grpc_completion_queue_functor {
  explicit Batch(std::vector<AnsweredCall*> calls)
      : grpc_completion_queue_functor{}, answered(std::move(calls)) {
    functor_run = [](grpc_completion_queue_functor* functor, int) {
      std::unique_ptr<Batch>(static_cast<Batch*>(functor))->Send();
    };
  }

  void Send() const {
    for (AnsweredCall* call : answered) call->SendAnswer();
  }

  const std::vector<AnsweredCall*> answered;
};

}  // namespace

void AnswerRelay::Send(AnsweredCall& call) {
  answered_.push_back(&call);
  if (answered_.size() == 1) shard_.AtEndOfTurn([this] { HandOver(); });
}

void AnswerRelay::HandOver() {
  auto batch = std::make_unique<Batch>(std::exchange(answered_, {}));
  // A batch of no operations of any call that is not over yet is how to get onto gRPC's thread.
  grpc_call* call = batch->answered.front()->grpc();
  grpc_completion_queue_functor* tag = batch.get();
  if (grpc_call_start_batch(call, nullptr, 0, tag, nullptr) == GRPC_CALL_OK) {
    static_cast<void>(batch.release());  // Deletes itself when it has run.
  } else {
    batch->Send();
  }
}

AnswerRelays::AnswerRelays(core::ShardMap& shards) : shards_(shards) {
  relays_.reserve(shards.all().size());
  for (const core::Shard& shard : shards.all()) relays_.emplace_back(shard.executor);
}

AnswerRelay& AnswerRelays::For(const core::Shard& shard) {
  return relays_[static_cast<size_t>(&shard - shards_.all().data())];
}

}  // namespace lockkeeper::rpc
