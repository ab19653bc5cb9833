// SPDX-License-Identifier: Apache-2.0
#include "rpc/caller.h"

#include <algorithm>
#include <string_view>

#include "core/types.h"

namespace lockkeeper::rpc {
namespace {

bool IsPrintable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

std::string_view RequestIdOf(const grpc::CallbackServerContext& call) {
  const auto& metadata = call.client_metadata();
  const auto entry = metadata.find(kRequestIdKey);
  if (entry == metadata.end()) return {};
  const std::string_view id(entry->second.data(), entry->second.size());
  if (id.size() > kRequestIdBytesMax || !IsPrintable(id)) return {};
  return id;
}

}  // namespace

std::string RequestIds::New() {
  const uint64_t number = next_.fetch_add(1, std::memory_order_relaxed);
  return core::Hex16(daemon_id_) + "-" + std::to_string(number);
}

const std::string& Caller::RequestId() {
  if (request_id_.empty()) request_id_ = RequestIdOf(call_);
  if (request_id_.empty()) request_id_ = ids_.New();
  return request_id_;
}

}  // namespace lockkeeper::rpc
