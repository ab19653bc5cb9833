// SPDX-License-Identifier: Apache-2.0
#include "tracing/otlp_request.h"

#include <array>
#include <cstdint>
#include <string_view>

namespace lockkeeper::tracing {
namespace {

using Attributes = google::protobuf::RepeatedPtrField<otlp::common::v1::KeyValue>;

constexpr uint32_t kFlagSampled = 0x001;
constexpr uint32_t kFlagSaysIsRemote = 0x100;
constexpr uint32_t kFlagIsRemote = 0x200;

// Most significant byte first.
void AppendBytes(uint64_t number, std::string& to) {
  for (int shift = 56; shift >= 0; shift -= 8) to.push_back(static_cast<char>(number >> shift));
}

struct SetValue {
  void operator()(const std::string& text) const { to.set_string_value(text); }
  void operator()(std::string_view text) const { to.set_string_value(text.data(), text.size()); }
  void operator()(int64_t number) const { to.set_int_value(number); }
  void operator()(bool truth) const { to.set_bool_value(truth); }
  otlp::common::v1::AnyValue& to;
};

void Add(const Attribute& attribute, Attributes& to) {
  otlp::common::v1::KeyValue& pair = *to.Add();
  pair.set_key(attribute.key.data(), attribute.key.size());
  std::visit(SetValue{*pair.mutable_value()}, attribute.value);
}

otlp::trace::v1::Span::SpanKind KindOf(SpanKind kind) {
  switch (kind) {
    case SpanKind::kServer:
      return otlp::trace::v1::Span::SPAN_KIND_SERVER;
    case SpanKind::kClient:
      return otlp::trace::v1::Span::SPAN_KIND_CLIENT;
    case SpanKind::kInternal:
      break;
  }
  return otlp::trace::v1::Span::SPAN_KIND_INTERNAL;
}

void Encode(const Span& from, otlp::trace::v1::Span& to) {
  AppendBytes(from.trace_id.high, *to.mutable_trace_id());
  AppendBytes(from.trace_id.low, *to.mutable_trace_id());
  AppendBytes(from.span_id, *to.mutable_span_id());
  if (from.parent_id != 0) AppendBytes(from.parent_id, *to.mutable_parent_span_id());
  to.set_trace_state(from.trace_state);
  to.set_flags(kFlagSampled | kFlagSaysIsRemote | (from.parent_is_remote ? kFlagIsRemote : 0U));
  to.set_name(from.name);
  to.set_kind(KindOf(from.kind));
  to.set_start_time_unix_nano(static_cast<uint64_t>(from.begin));
  to.set_end_time_unix_nano(static_cast<uint64_t>(from.end));
  for (const Attribute& attribute : from.attributes) Add(attribute, *to.mutable_attributes());
  if (!from.failed) return;
  to.mutable_status()->set_code(otlp::trace::v1::Status::STATUS_CODE_ERROR);
  to.mutable_status()->set_message(from.problem);
}

}  // namespace

void Encode(const Source& source, absl::Span<const Span> spans,
            otlp::collector::trace::v1::ExportTraceServiceRequest& to) {
  otlp::trace::v1::ResourceSpans& of_source = *to.add_resource_spans();
  Attributes& resource = *of_source.mutable_resource()->mutable_attributes();
  Add({"service.name", std::string_view("lockkeeper")}, resource);
  Add({"service.version", source.version}, resource);
  Add({"service.instance.id", source.daemon_id}, resource);
  if (!source.host.empty()) Add({"host.name", source.host}, resource);
  otlp::trace::v1::ScopeSpans& of_scope = *of_source.add_scope_spans();
  of_scope.mutable_scope()->set_name("lockkeeperd");
  of_scope.mutable_scope()->set_version(source.version);
  of_scope.mutable_spans()->Reserve(static_cast<int>(spans.size()));
  for (const Span& span : spans) Encode(span, *of_scope.add_spans());
}

}  // namespace lockkeeper::tracing
