// SPDX-License-Identifier: Apache-2.0
#include "support/rpc/session_caller.h"

#include <algorithm>
#include <stdexcept>

namespace lockkeeper::support {
namespace {

grpc::ClientContext& EndAfter(grpc::ClientContext& context, std::chrono::milliseconds limit) {
  context.set_deadline(std::chrono::system_clock::now() + limit);
  return context;
}

}  // namespace

SessionCaller::SessionCaller(const std::shared_ptr<grpc::Channel>& channel,
                             std::chrono::milliseconds limit)
    : stub_(v1::LockService::NewStub(channel)),
      stream_(stub_->Session(&EndAfter(context_, limit))) {}

SessionCaller::~SessionCaller() {
  if (finished_) return;
  context_.TryCancel();
  stream_->Finish();
}

v1::SessionOpened SessionCaller::Open(const v1::SessionOpen& open) {
  v1::SessionRequest request;
  *request.mutable_open() = open;
  Send(request);
  const auto answer = Read();
  if (!answer || !answer->has_opened()) throw std::runtime_error("the session was not opened");
  return answer->opened();
}

bool SessionCaller::Send(const v1::SessionRequest& request) { return stream_->Write(request); }

bool SessionCaller::Send(const std::vector<v1::SessionOperation>& operations) {
  v1::SessionRequest request;
  for (const v1::SessionOperation& operation : operations) {
    *request.mutable_batch()->add_operations() = operation;
  }
  return Send(request);
}

bool SessionCaller::Heartbeat(uint64_t number) {
  v1::SessionRequest request;
  request.mutable_heartbeat()->set_number(number);
  return Send(request);
}

bool SessionCaller::Close() {
  v1::SessionRequest request;
  request.mutable_close();
  return Send(request);
}

std::optional<v1::SessionResponse> SessionCaller::Read() {
  v1::SessionResponse response;
  if (!stream_->Read(&response)) return std::nullopt;
  return response;
}

std::optional<v1::SessionResult> SessionCaller::ReadResult() {
  while (results_.empty()) {
    const auto message = Read();
    if (!message) return std::nullopt;
    const auto& results = message->results().results();
    results_.assign(results.rbegin(), results.rend());
  }
  v1::SessionResult result = std::move(results_.back());
  results_.pop_back();
  return result;
}

grpc::Status SessionCaller::Finish() {
  finished_ = true;
  return stream_->Finish();
}

v1::SessionOperation AcquireOperation(uint64_t id, const std::string& name,
                                      const std::string& lease_id,
                                      std::chrono::seconds wait_timeout) {
  v1::SessionOperation operation;
  operation.set_id(id);
  v1::AcquireRequest& acquire = *operation.mutable_acquire();
  acquire.set_name(name);
  acquire.set_lease_id(lease_id);
  acquire.set_attempt(1);
  acquire.mutable_wait_timeout()->set_seconds(wait_timeout.count());
  return operation;
}

v1::SessionOperation ExtendOperation(uint64_t id, const std::string& name,
                                     const std::string& lease_id) {
  v1::SessionOperation operation;
  operation.set_id(id);
  operation.mutable_extend()->set_name(name);
  operation.mutable_extend()->set_lease_id(lease_id);
  return operation;
}

v1::SessionOperation ReleaseOperation(uint64_t id, const std::string& name,
                                      const std::string& lease_id) {
  v1::SessionOperation operation;
  operation.set_id(id);
  operation.mutable_release()->set_name(name);
  operation.mutable_release()->set_lease_id(lease_id);
  return operation;
}

}  // namespace lockkeeper::support
