// SPDX-License-Identifier: Apache-2.0
//
// The bytes of a request, read without the protos that made them: numbers and types of the fields
// are those of opentelemetry-proto. tests/operating/traces reads them with the published module.
#include "tracing/otlp_request.h"

#include <gmock/gmock.h>
#include <google/protobuf/unknown_field_set.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace lockkeeper::tracing {
namespace {

using google::protobuf::UnknownField;
using google::protobuf::UnknownFieldSet;
using testing::ElementsAre;
using testing::SizeIs;

// A message as its bytes say.
class Message {
 public:
  explicit Message(const std::string& bytes) { EXPECT_TRUE(fields_->ParseFromString(bytes)); }

  std::vector<Message> Messages(int number) const {
    std::vector<Message> found;
    for (const UnknownField* field : Fields(number, UnknownField::TYPE_LENGTH_DELIMITED)) {
      found.emplace_back(field->length_delimited());
    }
    return found;
  }
  Message Only(int number) const {
    const std::vector<Message> found = Messages(number);
    EXPECT_THAT(found, SizeIs(1)) << number;
    return found.empty() ? Message("") : found.front();
  }
  std::string Bytes(int number) const {
    const auto found = Fields(number, UnknownField::TYPE_LENGTH_DELIMITED);
    return found.empty() ? "" : found.front()->length_delimited();
  }
  uint64_t Varint(int number) const {
    const auto found = Fields(number, UnknownField::TYPE_VARINT);
    return found.empty() ? 0 : found.front()->varint();
  }
  uint64_t Fixed64(int number) const {
    const auto found = Fields(number, UnknownField::TYPE_FIXED64);
    return found.empty() ? 0 : found.front()->fixed64();
  }
  uint32_t Fixed32(int number) const {
    const auto found = Fields(number, UnknownField::TYPE_FIXED32);
    return found.empty() ? 0 : found.front()->fixed32();
  }
  std::set<int> Numbers() const {
    std::set<int> numbers;
    for (int i = 0; i < fields_->field_count(); ++i) numbers.insert(fields_->field(i).number());
    return numbers;
  }

 private:
  std::vector<const UnknownField*> Fields(int number, UnknownField::Type type) const {
    std::vector<const UnknownField*> found;
    for (int i = 0; i < fields_->field_count(); ++i) {
      const UnknownField& field = fields_->field(i);
      if (field.number() != number) continue;
      EXPECT_EQ(field.type(), type) << number;
      found.push_back(&field);
    }
    return found;
  }

  std::shared_ptr<UnknownFieldSet> fields_ = std::make_shared<UnknownFieldSet>();
};

Message Sent(const std::vector<Span>& spans) {
  otlp::collector::trace::v1::ExportTraceServiceRequest request;
  Encode({.version = "1.2.3", .daemon_id = "00000000000000ff", .host = "h"}, spans, request);
  return Message(request.SerializeAsString());
}

// The texts of attributes: KeyValue{key = 1, value = 2}, AnyValue{string_value = 1}.
std::map<std::string, std::string> TextsOf(const std::vector<Message>& attributes) {
  std::map<std::string, std::string> texts;
  for (const Message& attribute : attributes) {
    texts[attribute.Bytes(1)] = attribute.Only(2).Bytes(1);
  }
  return texts;
}

Span Example() {
  return {.trace_id = {0x0102030405060708, 0x090a0b0c0d0e0f10},
          .span_id = 0x1112131415161718,
          .parent_id = 0x2122232425262728,
          .parent_is_remote = true,
          .trace_state = "rojo=1",
          .name = "lockkeeper.v1.LockService/Acquire",
          .kind = SpanKind::kServer,
          .begin = 1'700'000'000'123'456'789,
          .end = 1'700'000'000'123'456'790,
          .attributes = {{"lockkeeper.lock", std::string("jobs/1")},
                         {"lockkeeper.fencing_token", int64_t{42}},
                         {"yes", true},
                         {"rpc.system", std::string_view("grpc")}},
          .failed = true,
          .problem = "why"};
}

TEST(OtlpRequestTest, SpanHasTheFieldsOfOtlp) {
  const Message span = Sent({Example()}).Only(1).Only(2).Only(2);

  EXPECT_EQ(span.Bytes(1), "\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10");
  EXPECT_EQ(span.Bytes(2), "\x11\x12\x13\x14\x15\x16\x17\x18");
  EXPECT_EQ(span.Bytes(3), "rojo=1");
  EXPECT_EQ(span.Bytes(4), "\x21\x22\x23\x24\x25\x26\x27\x28");
  EXPECT_EQ(span.Bytes(5), "lockkeeper.v1.LockService/Acquire");
  EXPECT_EQ(span.Varint(6), 2U) << "SPAN_KIND_SERVER";
  EXPECT_EQ(span.Fixed64(7), 1'700'000'000'123'456'789U);
  EXPECT_EQ(span.Fixed64(8), 1'700'000'000'123'456'790U);
  EXPECT_EQ(span.Only(15).Bytes(2), "why");
  EXPECT_EQ(span.Only(15).Varint(3), 2U) << "STATUS_CODE_ERROR";
  EXPECT_EQ(span.Fixed32(16), 0x301U) << "sampled, and its parent is remote";
  EXPECT_THAT(span.Numbers(), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16));
}

TEST(OtlpRequestTest, AttributesHaveTheirTypes) {
  const std::vector<Message> attributes = Sent({Example()}).Only(1).Only(2).Only(2).Messages(9);

  ASSERT_THAT(attributes, SizeIs(4));
  EXPECT_EQ(attributes[0].Bytes(1), "lockkeeper.lock");
  EXPECT_EQ(attributes[0].Only(2).Bytes(1), "jobs/1");
  EXPECT_EQ(attributes[1].Bytes(1), "lockkeeper.fencing_token");
  EXPECT_EQ(attributes[1].Only(2).Varint(3), 42U);
  EXPECT_EQ(attributes[2].Only(2).Varint(2), 1U);
  EXPECT_EQ(attributes[3].Only(2).Bytes(1), "grpc");
}

TEST(OtlpRequestTest, SpanWithoutParentOrErrorHasNeither) {
  const Message span =
      Sent({{.trace_id = {1, 2}, .span_id = 3, .name = "wait"}}).Only(1).Only(2).Only(2);

  EXPECT_EQ(span.Bytes(4), "");
  EXPECT_THAT(span.Messages(15), SizeIs(0));
  EXPECT_EQ(span.Varint(6), 1U) << "SPAN_KIND_INTERNAL";
  EXPECT_EQ(span.Fixed32(16), 0x101U);
}

TEST(OtlpRequestTest, ResourceSaysWhoseSpansTheseAre) {
  const Message of_resource = Sent({Example(), Example()}).Only(1);

  EXPECT_EQ(TextsOf(of_resource.Only(1).Messages(1)),
            (std::map<std::string, std::string>{{"service.name", "lockkeeper"},
                                                {"service.version", "1.2.3"},
                                                {"service.instance.id", "00000000000000ff"},
                                                {"host.name", "h"}}));
  const Message of_scope = of_resource.Only(2);
  EXPECT_EQ(of_scope.Only(1).Bytes(1), "lockkeeperd");
  EXPECT_EQ(of_scope.Only(1).Bytes(2), "1.2.3");
  EXPECT_THAT(of_scope.Messages(2), SizeIs(2)) << "one resource for all spans";
}

}  // namespace
}  // namespace lockkeeper::tracing
