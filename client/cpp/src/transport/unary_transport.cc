// SPDX-License-Identifier: Apache-2.0
#include "transport/unary_transport.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "transport/call_options.h"
#include "transport/status_details.h"
#include "transport/tracing.h"

namespace lockkeeper::client {

struct UnaryTransport::Call {
  PendingOperationPtr operation;
  std::optional<grpc::ClientContext> context{std::in_place};
  v1::SessionResult result;
};

void UnaryTransport::Close() {
  std::unique_lock lock(mutex_);
  for (const auto& [operation, call] : in_flight_) call->context->TryCancel();
  all_ended_.wait(lock, [&] { return in_flight_.empty(); });
}

void UnaryTransport::Begin(Call& call) {
  const std::lock_guard lock(mutex_);
  in_flight_.emplace(call.operation.get(), &call);
  if (call.operation->cancelled) call.context->TryCancel();
}

void UnaryTransport::Cancel(const PendingOperationPtr& operation) {
  operation->cancelled = true;
  const std::lock_guard lock(mutex_);
  const auto found = in_flight_.find(operation.get());
  if (found != in_flight_.end()) found->second->context->TryCancel();
}

void UnaryTransport::End(Call& call) {
  const std::lock_guard lock(mutex_);
  in_flight_.erase(call.operation.get());
  // A context keeps its channel alive, and destroying the last channel waits for the thread that
  // this runs on. So the context must be destroyed before Close returns, after which the channels
  // are destroyed.
  call.context.reset();
  if (in_flight_.empty()) all_ended_.notify_all();
}

void UnaryTransport::Run(PendingOperationPtr operation) {
  using Request = v1::SessionOperation;
  auto call = std::make_shared<Call>();
  call->operation = std::move(operation);
  const Request& request = call->operation->request;
  v1::SessionResult& result = call->result;
  grpc::ClientContext* context = &*call->context;
  SetTimeout(*context, std::max<Duration>(call->operation->deadline - clock_.Now(),
                                          std::chrono::milliseconds(1)));
  if (daemon_.token != nullptr) daemon_.token->AddTo(*context);
  AddTrace(request, *context);
  Begin(*call);
  const auto answered = [this, call](const grpc::Status& status) {
    auto done = std::move(call->operation->done);
    absl::Status error = call->operation->cancelled ? StatusFromGrpc(status)
                                                    : StatusOfUncancelled(status, daemon_.address);
    if (error.ok()) {
      std::move(done)(std::move(call->result));
    } else {
      std::move(done)(std::move(error));
    }
    done = nullptr;
    End(*call);
  };
  switch (request.operation_case()) {
    case Request::kAcquire:
      // An offer has to be claimed soon.
      if (request.acquire().confirm()) daemon_.others_channel->GetState(/*try_to_connect=*/true);
      return daemon_.acquires->async()->Acquire(context, &request.acquire(),
                                                result.mutable_acquire(), answered);
    case Request::kExtend:
      return daemon_.others->async()->Extend(context, &request.extend(), result.mutable_extend(),
                                             answered);
    case Request::kRelease:
      return daemon_.others->async()->Release(context, &request.release(), result.mutable_release(),
                                              answered);
    case Request::kFence:
      return daemon_.others->async()->Fence(context, &request.fence(), result.mutable_fence(),
                                            answered);
    case Request::OPERATION_NOT_SET:
      break;
  }
  answered({grpc::StatusCode::INTERNAL, "empty operation"});
}

}  // namespace lockkeeper::client
