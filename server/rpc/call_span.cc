// SPDX-License-Identifier: Apache-2.0
#include "rpc/call_span.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/errors.h"
#include "core/limits.h"
#include "lockkeeper/admin/v1/admin_service.grpc.pb.h"
#include "lockkeeper/v1/lock_service.grpc.pb.h"

namespace lockkeeper::rpc {
namespace {

using grpc::string_ref;

std::string_view ViewOf(string_ref text) { return {text.data(), text.size()}; }

constexpr size_t kAttributesMax = 11;

// The only value of `key`; empty if it has none or several: nobody could say which one counts.
std::string_view OnlyValue(const grpc::CallbackServerContext& call, const char* key) {
  const auto [begin, end] = call.client_metadata().equal_range(key);
  if (begin == end || std::next(begin) != end) return {};
  return ViewOf(begin->second);
}

// All values of `key` as one list, as W3C joins them.
std::string AllValues(const grpc::CallbackServerContext& call, const char* key) {
  const auto [begin, end] = call.client_metadata().equal_range(key);
  std::string all;
  for (auto entry = begin; entry != end; ++entry) {
    if (!all.empty()) all += ',';
    all += ViewOf(entry->second);
    if (all.size() > tracing::kTracestateBytesMax) return {};
  }
  return all;
}

// Without a default: a new verb has to say to which service it belongs.
bool IsOfAdminService(Verb verb) {
  switch (verb) {
    case Verb::kInspect:
    case Verb::kList:
    case Verb::kWatch:
    case Verb::kListContended:
    case Verb::kForceRelease:
    case Verb::kEndQuarantine:
    case Verb::kDrain:
    case Verb::kServerInfo:
      return true;
    case Verb::kAcquire:
    case Verb::kExtend:
    case Verb::kRelease:
    case Verb::kFence:
    case Verb::kCheckAccess:
    case Verb::kOpenSession:
      break;
  }
  return false;
}

std::string_view ServiceOf(Verb verb) {
  return IsOfAdminService(verb) ? admin::v1::AdminService::service_full_name()
                                : v1::LockService::service_full_name();
}

// "lockkeeper.v1.LockService/Acquire"
const std::string& SpanNameOf(Verb verb) {
  static const auto* const kNames = [] {
    auto* const names = new std::array<std::string, kVerbs>;
    for (size_t i = 0; i < kVerbs; ++i) {
      const auto each = static_cast<Verb>(i);
      (*names)[i] = std::string(ServiceOf(each)) + "/" + std::string(RpcNameOf(each));
    }
    return names;
  }();
  return kNames->at(static_cast<size_t>(verb));
}

// At most `bytes_max` bytes of UTF-8: the text of a rejected request may be longer than it may be.
std::string Cut(std::string_view text, size_t bytes_max) {
  if (text.size() <= bytes_max) return std::string(text);
  size_t end = bytes_max;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U) --end;
  return std::string(text.substr(0, end));
}

// Codes that are the daemon's fault, or the store's: OpenTelemetry's conventions for servers.
bool IsFailure(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kUnknown:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kUnimplemented:
    case absl::StatusCode::kInternal:
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDataLoss:
      return true;
    default:
      return false;
  }
}

void AddText(tracing::Span& span, std::string_view key, std::string text) {
  if (!text.empty()) span.attributes.push_back({key, std::move(text)});
}

}  // namespace

core::TraceRef BeginTrace(tracing::Tracer* tracer, const grpc::CallbackServerContext& call) {
  if (tracer == nullptr) return nullptr;
  const std::string_view traceparent = OnlyValue(call, tracing::kTraceparentKey);
  if (traceparent.empty()) return tracer->Begin({}, {});
  return tracer->Begin(traceparent, AllValues(call, tracing::kTracestateKey));
}

void BeginTrace(tracing::Tracer* tracer, const v1::SessionOperation& message,
                Operation& operation) {
  if (tracer == nullptr) return;
  core::TraceRef trace = tracer->Begin(message.traceparent(), message.tracestate());
  if (trace == nullptr) return;
  std::visit(
      [&](auto& request) {
        if constexpr (requires { request.trace; }) request.trace = std::move(trace);
      },
      operation.request);
}

core::TraceRef TraceOf(const Operation& operation) {
  return std::visit(
      [](const auto& request) -> core::TraceRef {
        if constexpr (requires { request.trace; }) {
          return request.trace;
        } else {
          return nullptr;
        }
      },
      operation.request);
}

void EndSpan(const tracing::Tracer& tracer, const core::TraceRef& trace, const AnsweredCall& call) {
  tracing::Span span = tracer.CallSpan(tracing::OwnTrace(trace), SpanNameOf(call.verb));
  const absl::StatusCode code = telemetry::CodeOf(call.outcome, call.status);
  const Subject& subject = call.subject;
  std::vector<tracing::Attribute>& attributes = span.attributes;
  attributes.reserve(kAttributesMax);
  attributes.push_back({"rpc.system", std::string_view("grpc")});
  attributes.push_back({"rpc.service", ServiceOf(call.verb)});
  attributes.push_back({"rpc.method", RpcNameOf(call.verb)});
  attributes.push_back({"rpc.grpc.status_code", static_cast<int64_t>(code)});
  attributes.push_back({"lockkeeper.outcome", telemetry::NameOf(call.outcome)});
  attributes.push_back({"lockkeeper.request_id", call.caller.RequestId()});
  AddText(span, "lockkeeper.lock", Cut(subject.lock_name, core::limits::kNameBytesMax));
  AddText(span, "lockkeeper.owner", Cut(subject.owner, core::limits::kOwnerBytesMax));
  AddText(span, "lockkeeper.principal", call.caller.principal());
  if (subject.token.value != 0) {
    attributes.push_back({"lockkeeper.fencing_token", subject.token.value});
  }
  if (const auto reason = core::ReasonOf(call.status)) {
    attributes.push_back({"lockkeeper.reason", core::RowOf(*reason).name});
  }
  span.failed = IsFailure(code);
  if (span.failed) span.problem = std::string(call.status.message());
  tracer.Put(std::move(span));
}

}  // namespace lockkeeper::rpc
