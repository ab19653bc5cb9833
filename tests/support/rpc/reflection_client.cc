// SPDX-License-Identifier: Apache-2.0
#include "support/rpc/reflection_client.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/generic_stub.h>

#include <algorithm>

#include <stdexcept>

#include "support/rpc/deadline.h"

// The messages are read and written by hand: the server's library has their only generated copy,
// and hides it.
namespace lockkeeper::support {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

constexpr char kMethod[] = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo";
constexpr std::string_view kListServicesRequest("\x3a\x00", 2);  // list_services: ""
constexpr int kListServicesResponse = 6;
constexpr int kService = 1;
constexpr int kName = 1;

// All length-delimited fields `number` of a message.
std::vector<std::string> Fields(const std::string& message, int number) {
  std::vector<std::string> found;
  CodedInputStream input(reinterpret_cast<const uint8_t*>(message.data()),
                         static_cast<int>(message.size()));
  while (const uint32_t tag = input.ReadTag()) {
    if (WireFormatLite::GetTagWireType(tag) != WireFormatLite::WIRETYPE_LENGTH_DELIMITED) {
      if (!WireFormatLite::SkipField(&input, tag)) break;
      continue;
    }
    std::string text;
    if (!WireFormatLite::ReadBytes(&input, &text)) break;
    if (WireFormatLite::GetTagFieldNumber(tag) == number) found.push_back(text);
  }
  return found;
}

grpc::ByteBuffer ToBuffer(std::string_view bytes) {
  const grpc::Slice slice(bytes.data(), bytes.size());
  return {&slice, 1};
}

std::string ToString(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string bytes;
  if (!buffer.Dump(&slices).ok()) return bytes;
  for (const grpc::Slice& slice : slices) bytes.append(slice.begin(), slice.end());
  return bytes;
}

void WaitFor(grpc::CompletionQueue& queue) {
  void* tag = nullptr;
  bool ok = false;
  if (!queue.Next(&tag, &ok) || !ok) throw std::runtime_error("no reflection");
}

std::string Ask(const std::shared_ptr<grpc::Channel>& channel, std::string_view request) {
  grpc::GenericStub stub(channel);
  grpc::ClientContext context;
  SetDeadline(context, std::chrono::seconds(20));
  grpc::CompletionQueue queue;
  const auto call = stub.PrepareCall(&context, kMethod, &queue);
  call->StartCall(nullptr);
  WaitFor(queue);
  call->Write(ToBuffer(request), nullptr);
  WaitFor(queue);
  grpc::ByteBuffer response;
  call->Read(&response, nullptr);
  WaitFor(queue);
  call->WritesDone(nullptr);
  WaitFor(queue);
  grpc::Status status;
  call->Finish(&status, nullptr);
  WaitFor(queue);
  return ToString(response);
}

}  // namespace

std::vector<std::string> ListServices(const std::shared_ptr<grpc::Channel>& channel) {
  std::vector<std::string> names;
  for (const auto& list : Fields(Ask(channel, kListServicesRequest), kListServicesResponse)) {
    for (const std::string& service : Fields(list, kService)) {
      for (const std::string& name : Fields(service, kName)) names.push_back(name);
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace lockkeeper::support
