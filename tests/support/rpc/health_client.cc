// SPDX-License-Identifier: Apache-2.0
#include "support/rpc/health_client.h"

#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/generic_stub.h>

#include <vector>

#include "support/rpc/deadline.h"

namespace lockkeeper::support {
namespace {

constexpr char kMethod[] = "/grpc.health.v1.Health/Check";
// HealthCheckRequest{service}, HealthCheckResponse{status}: too small to generate code for.
constexpr char kServiceTag = 0x0a;
constexpr char kStatusTag = 0x08;
constexpr char kServingStatus = 1;

grpc::ByteBuffer RequestFor(const std::string& name) {
  std::string bytes;
  if (!name.empty()) bytes = std::string{kServiceTag, static_cast<char>(name.size())} + name;
  const grpc::Slice slice(bytes);
  return {&slice, 1};
}

bool SaysServing(const grpc::ByteBuffer& response) {
  std::vector<grpc::Slice> slices;
  if (!response.Dump(&slices).ok() || slices.empty() || slices[0].size() != 2) return false;
  return slices[0].begin()[0] == kStatusTag && slices[0].begin()[1] == kServingStatus;
}

}  // namespace

Serving CheckHealth(const std::shared_ptr<grpc::Channel>& channel, const std::string& name) {
  grpc::GenericStub stub(channel);
  grpc::ClientContext context;
  SetDeadline(context, std::chrono::seconds(20));
  grpc::CompletionQueue queue;
  const auto call = stub.PrepareUnaryCall(&context, kMethod, RequestFor(name), &queue);
  call->StartCall();
  grpc::ByteBuffer response;
  grpc::Status status;
  call->Finish(&response, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  if (!queue.Next(&tag, &ok)) return Serving::kNoAnswer;
  if (status.error_code() == grpc::StatusCode::NOT_FOUND) return Serving::kUnknownName;
  if (!status.ok()) return Serving::kNoAnswer;
  return SaysServing(response) ? Serving::kServing : Serving::kNotServing;
}

}  // namespace lockkeeper::support
