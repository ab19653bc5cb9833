// SPDX-License-Identifier: Apache-2.0
#include "rpc/caller.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "core/errors.h"
#include "core/types.h"
#include "rpc/credentials.h"
#include "text/problem.h"

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
  return absl::StrCat(begin_, next_.fetch_add(1, std::memory_order_relaxed));
}

absl::Status Caller::Identify(const access::AccessControl& access) {
  const uint64_t generation = access.generation();
  if (standing_ && generation == generation_ &&
      (standing_->until == absl::InfiniteFuture() || access.Now() < standing_->until)) {
    return absl::OkStatus();
  }
  const std::shared_ptr<const grpc::AuthContext> auth = call_.auth_context();
  auto standing = access.Current()->Identify(CredentialsOf(call_, auth.get()), access.Now());
  if (!standing.ok()) return standing.status();
  if (first_ && (*standing)->identity != first_->identity) {
    return core::Error(core::ErrorReason::kUnauthenticated,
                       "the session was opened as " + text::Quoted(first_->identity.principal) +
                           ", and its credentials name " +
                           text::Quoted((*standing)->identity.principal) + " now: open a new one");
  }
  generation_ = generation;
  standing_ = *std::move(standing);
  if (!first_) first_ = standing_;
  return absl::OkStatus();
}

void Caller::FindUsage(access::UsageBook& book, core::Instant now) {
  if (usage_ == nullptr) usage_ = book.Of(identity().principal, now);
}

const access::Identity& Caller::identity() const {
  static const access::Identity kUnknown;
  return first_ ? first_->identity : kUnknown;
}

const std::string& Caller::principal() const {
  static const std::string kNobody;
  return identity().proof == access::Proof::kNone ? kNobody : identity().principal;
}

const std::string& Caller::RequestId() {
  if (request_id_.empty()) request_id_ = RequestIdOf(call_);
  if (request_id_.empty()) request_id_ = ids_.New();
  return request_id_;
}

const audit::Origin& Caller::Origin() {
  if (!origin_) {
    const std::string_view principal = first_ ? identity().principal : std::string_view();
    origin_.emplace(principal, Peer(), RequestId());
  }
  return *origin_;
}

}  // namespace lockkeeper::rpc
