// SPDX-License-Identifier: Apache-2.0
#include "rpc/call_span.h"

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "core/errors.h"
#include "core/limits.h"

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

bool IsOfAdminService(Verb verb) {
  switch (verb) {
    case Verb::kInspect:
    case Verb::kList:
    case Verb::kForceRelease:
    case Verb::kEndQuarantine:
    case Verb::kDrain:
    case Verb::kServerInfo:
      return true;
    default:
      return false;
  }
}

std::string_view ServiceOf(Verb verb) {
  return IsOfAdminService(verb) ? admin::v1::AdminService::service_full_name()
                                : v1::LockService::service_full_name();
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
  const std::string_view service = ServiceOf(call.verb);
  const std::string_view method = RpcNameOf(call.verb);
  tracing::Span span =
      tracer.CallSpan(tracing::OwnTrace(trace), std::string(service) + "/" + std::string(method));
  const absl::StatusCode code = telemetry::CodeOf(call.outcome, call.status);
  span.attributes.reserve(kAttributesMax);
  AddText(span, "rpc.system", "grpc");
  AddText(span, "rpc.service", std::string(service));
  AddText(span, "rpc.method", std::string(method));
  span.attributes.push_back({"rpc.grpc.status_code", static_cast<int64_t>(code)});
  AddText(span, "lockkeeper.outcome", std::string(telemetry::NameOf(call.outcome)));
  AddText(span, "lockkeeper.request_id", call.caller.RequestId());
  const Subject& subject = call.subject;
  AddText(span, "lockkeeper.lock", Cut(subject.lock_name, core::limits::kNameBytesMax));
  AddText(span, "lockkeeper.owner", Cut(subject.owner, core::limits::kOwnerBytesMax));
  AddText(span, "lockkeeper.principal", call.caller.principal());
  if (subject.token.value != 0) {
    span.attributes.push_back({"lockkeeper.fencing_token", subject.token.value});
  }
  if (const auto reason = core::ReasonOf(call.status)) {
    AddText(span, "lockkeeper.reason", std::string(core::RowOf(*reason).name));
  }
  span.failed = IsFailure(code);
  if (span.failed) span.problem = std::string(call.status.message());
  tracer.Put(std::move(span));
}

}  // namespace lockkeeper::rpc
