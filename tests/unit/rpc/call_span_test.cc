// SPDX-License-Identifier: Apache-2.0
//
// The spans of calls and of operations of a session, over a real stream: whose children they are,
// and what they say.
#include "rpc/call_span.h"

#include <gmock/gmock.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/errors.h"
#include "lockkeeper/admin/v1/admin_service.grpc.pb.h"
#include "lockkeeper/v1/lock_service.grpc.pb.h"
#include "support/rpc/deadline.h"
#include "support/rpc/in_process_server.h"
#include "support/rpc/lock_requests.h"
#include "support/rpc/session_caller.h"

namespace lockkeeper::rpc {
namespace {

using core::AcquireOutcome;
using support::AcquireOf;
using support::SessionCaller;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using tracing::Span;
using Metadata = std::vector<std::pair<std::string, std::string>>;

constexpr char kSampled[] = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
constexpr char kOther[] = "00-11111111111111111111111111111111-2222222222222222-01";
constexpr char kUnsampled[] = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";
const std::string kLeaseId(core::HexId::kLength, 'a');

// Thread-safety: thread-safe.
class KeptSpans final : public tracing::SpanSink {
 public:
  void Put(Span span) override {
    const std::lock_guard lock(mutex_);
    spans_.push_back(std::move(span));
  }
  std::vector<Span> spans() const {
    const std::lock_guard lock(mutex_);
    return spans_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<Span> spans_;
};

std::string TextOf(const Span& span, std::string_view key) {
  for (const tracing::Attribute& attribute : span.attributes) {
    if (attribute.key != key) continue;
    const auto* const number = std::get_if<int64_t>(&attribute.value);
    if (number != nullptr) return std::to_string(*number);
    const auto* const constant = std::get_if<std::string_view>(&attribute.value);
    return constant != nullptr ? std::string(*constant) : std::get<std::string>(attribute.value);
  }
  return "";
}

class CallSpanTest : public testing::Test {
 protected:
  void SetUp() override {
    in_process_.store().on_acquire = [this](const core::AcquireRequest& request, auto done) {
      store_saw_trace_ = request.trace != nullptr;
      core::Lease lease;
      lease.name = request.name;
      lease.lease_id = request.lease_id;
      lease.token = core::FencingToken{42};
      lease.ttl = request.ttl;
      lease.remaining_ttl = request.ttl;
      in_process_.store().AnswerLater<AcquireOutcome>(
          std::move(done),
          answer_.ok() ? AcquireOutcome(lease) : absl::StatusOr<AcquireOutcome>(answer_));
    };
    in_process_.store().on_withdraw = [this](const core::WithdrawRequest&, auto done) {
      in_process_.store().AnswerLater<core::WithdrawResult>(std::move(done),
                                                            core::WithdrawResult::kNotGranted);
    };
    Serve(0);
  }

  // Starts a server that traces this share of the calls without a context.
  void Serve(double ratio) {
    server_.reset();
    tracer_ = std::make_unique<tracing::Tracer>(
        tracing::TracerOptions{.sample_ratio = ratio, .seeds = {1, 2}}, spans_);
    ServiceDeps deps = in_process_.Deps();
    deps.tracer = tracer_.get();
    auto server = Server::Start({{.host = "127.0.0.1"}}, deps);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    channel_ = grpc::CreateCustomChannel(server_->addresses().front().ToString(),
                                         grpc::InsecureChannelCredentials(), arguments);
  }

  grpc::Status Acquire(const v1::AcquireRequest& request, const Metadata& metadata) {
    grpc::ClientContext context;
    support::SetDeadline(context, std::chrono::seconds(20));
    for (const auto& [key, value] : metadata) context.AddMetadata(key, value);
    v1::AcquireResponse response;
    return v1::LockService::NewStub(channel_)->Acquire(&context, request, &response);
  }

  Span TheSpan() const {
    const std::vector<Span> spans = spans_.spans();
    EXPECT_THAT(spans, SizeIs(1));
    return spans.empty() ? Span() : spans.front();
  }

  KeptSpans spans_;
  std::unique_ptr<tracing::Tracer> tracer_;
  absl::Status answer_;
  std::atomic<bool> store_saw_trace_ = false;
  support::InProcessServer in_process_;
  std::unique_ptr<Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
};

TEST_F(CallSpanTest, UnaryCallIsAChildOfItsCaller) {
  v1::AcquireRequest request = AcquireOf("jobs/1", kLeaseId);
  request.set_owner("me");
  ASSERT_TRUE(
      Acquire(request,
              {{"traceparent", kSampled}, {"tracestate", "rojo=1"}, {"x-request-id", "r-7"}})
          .ok());

  const Span span = TheSpan();
  EXPECT_EQ(span.name, "lockkeeper.v1.LockService/Acquire");
  EXPECT_EQ(span.kind, tracing::SpanKind::kServer);
  EXPECT_EQ(span.trace_id, (tracing::TraceId{0x0af7651916cd43dd, 0x8448eb211c80319c}));
  EXPECT_EQ(span.parent_id, 0xb7ad6b7169203331);
  EXPECT_EQ(span.trace_state, "rojo=1");
  EXPECT_LT(span.begin, span.end);
  EXPECT_FALSE(span.failed);
  EXPECT_EQ(TextOf(span, "rpc.system"), "grpc");
  EXPECT_EQ(TextOf(span, "rpc.service"), "lockkeeper.v1.LockService");
  EXPECT_EQ(TextOf(span, "rpc.method"), "Acquire");
  EXPECT_EQ(TextOf(span, "rpc.grpc.status_code"), "0");
  EXPECT_EQ(TextOf(span, "lockkeeper.outcome"), "granted");
  EXPECT_EQ(TextOf(span, "lockkeeper.lock"), "jobs/1");
  EXPECT_EQ(TextOf(span, "lockkeeper.owner"), "me");
  EXPECT_EQ(TextOf(span, "lockkeeper.fencing_token"), "42");
  EXPECT_EQ(TextOf(span, "lockkeeper.request_id"), "r-7");
  EXPECT_TRUE(store_saw_trace_) << "the store may add its span";
}

TEST_F(CallSpanTest, NoSpanHasALeaseId) {
  ASSERT_TRUE(Acquire(AcquireOf("jobs/1", kLeaseId), {{"traceparent", kSampled}}).ok());
  v1::AcquireRequest malformed = AcquireOf("jobs/1", kLeaseId + "a");
  ASSERT_FALSE(Acquire(malformed, {{"traceparent", kSampled}}).ok());
  answer_ = core::Error(core::ErrorReason::kLeaseEnded, "its client has released it");
  ASSERT_FALSE(Acquire(AcquireOf("jobs/1", kLeaseId), {{"traceparent", kSampled}}).ok());

  const std::vector<Span> spans = spans_.spans();
  ASSERT_THAT(spans, SizeIs(3));
  for (const Span& span : spans) {
    EXPECT_THAT(span.problem, Not(HasSubstr("aaaaaaaa")));
    for (const tracing::Attribute& attribute : span.attributes) {
      EXPECT_THAT(TextOf(span, attribute.key), Not(HasSubstr("aaaaaaaa"))) << attribute.key;
    }
  }
}

TEST_F(CallSpanTest, UnsampledCallHasNoSpanWhateverTheRatio) {
  Serve(1);
  ASSERT_TRUE(Acquire(AcquireOf("a"), {{"traceparent", kUnsampled}}).ok());

  EXPECT_THAT(spans_.spans(), IsEmpty());
  EXPECT_FALSE(store_saw_trace_);
}

TEST_F(CallSpanTest, CallWithoutAContextFollowsTheRatio) {
  ASSERT_TRUE(Acquire(AcquireOf("a"), {}).ok());
  EXPECT_THAT(spans_.spans(), IsEmpty());

  Serve(1);
  ASSERT_TRUE(Acquire(AcquireOf("a"), {}).ok());
  EXPECT_EQ(TheSpan().parent_id, 0U);
}

TEST_F(CallSpanTest, ContextThatIsMalformedOrGivenTwiceIsIgnored) {
  ASSERT_TRUE(Acquire(AcquireOf("a"), {{"traceparent", "00-nonsense-01"}}).ok());
  ASSERT_TRUE(Acquire(AcquireOf("a"), {{"traceparent", kSampled}, {"traceparent", kOther}}).ok());
  ASSERT_TRUE(Acquire(AcquireOf("a"), {{"traceparent", std::string(4'000, '0')}}).ok());

  EXPECT_THAT(spans_.spans(), IsEmpty());
}

TEST_F(CallSpanTest, SeveralStatesAreOneList) {
  ASSERT_TRUE(
      Acquire(AcquireOf("a"),
              {{"traceparent", kSampled}, {"tracestate", "rojo=1"}, {"tracestate", "congo=2"}})
          .ok());

  EXPECT_EQ(TheSpan().trace_state, "rojo=1,congo=2");
}

TEST_F(CallSpanTest, RejectedCallHasItsSpan) {
  const std::string long_name = std::string(core::limits::kNameBytesMax - 1, 'x') + "ää";
  ASSERT_FALSE(Acquire(AcquireOf(long_name), {{"traceparent", kSampled}}).ok());

  const Span span = TheSpan();
  EXPECT_EQ(TextOf(span, "rpc.grpc.status_code"), "3");
  EXPECT_EQ(TextOf(span, "lockkeeper.outcome"), "error");
  EXPECT_EQ(TextOf(span, "lockkeeper.reason"), "INVALID_FIELD");
  EXPECT_EQ(TextOf(span, "lockkeeper.lock"), std::string(core::limits::kNameBytesMax - 1, 'x'))
      << "cut between characters";
  EXPECT_FALSE(span.failed) << "the client's fault";
}

TEST_F(CallSpanTest, FailureOfTheStoreIsAnError) {
  answer_ = core::Error(core::ErrorReason::kStoreUnavailable, "Redis is away");
  ASSERT_FALSE(Acquire(AcquireOf("a"), {{"traceparent", kSampled}}).ok());

  const Span span = TheSpan();
  EXPECT_TRUE(span.failed);
  EXPECT_EQ(span.problem, "Redis is away");
  EXPECT_EQ(TextOf(span, "rpc.grpc.status_code"), "14");
  EXPECT_EQ(TextOf(span, "lockkeeper.reason"), "STORE_UNAVAILABLE");
}

TEST_F(CallSpanTest, CallOfAnAdministratorNamesItsService) {
  grpc::ClientContext context;
  context.AddMetadata("traceparent", kSampled);
  admin::v1::GetServerInfoResponse response;
  const auto stub = admin::v1::AdminService::NewStub(channel_);
  ASSERT_TRUE(stub->GetServerInfo(&context, {}, &response).ok());

  EXPECT_EQ(TheSpan().name, "lockkeeper.admin.v1.AdminService/GetServerInfo");
}

TEST_F(CallSpanTest, EachOperationOfASessionHasItsOwnContext) {
  SessionCaller session(channel_);
  session.Open();
  std::vector<v1::SessionOperation> operations = {
      support::AcquireOperation(1, "a", kLeaseId), support::AcquireOperation(2, "b", kLeaseId),
      support::AcquireOperation(3, "c", kLeaseId), support::AcquireOperation(4, "d", kLeaseId),
      support::AcquireOperation(5, "e", kLeaseId)};
  operations[0].set_traceparent(kSampled);
  operations[0].set_tracestate("rojo=1");
  operations[1].set_traceparent(kOther);
  operations[2].set_traceparent(kUnsampled);
  operations[3].set_traceparent("00-nonsense-01");
  ASSERT_TRUE(session.Send(operations));
  for (size_t i = 0; i < operations.size(); ++i) {
    const auto result = session.ReadResult();
    ASSERT_TRUE(result.has_value());
    EXPECT_TRUE(result->acquire().has_lease()) << "a malformed context is no error";
  }

  std::vector<Span> spans = spans_.spans();
  ASSERT_THAT(spans, SizeIs(2));
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) {
    return TextOf(a, "lockkeeper.lock") < TextOf(b, "lockkeeper.lock");
  });
  EXPECT_EQ(spans[0].name, "lockkeeper.v1.LockService/Acquire");
  EXPECT_EQ(spans[0].trace_id, (tracing::TraceId{0x0af7651916cd43dd, 0x8448eb211c80319c}));
  EXPECT_EQ(spans[0].parent_id, 0xb7ad6b7169203331);
  EXPECT_EQ(spans[0].trace_state, "rojo=1");
  EXPECT_EQ(TextOf(spans[0], "lockkeeper.lock"), "a");
  EXPECT_EQ(TextOf(spans[0], "lockkeeper.fencing_token"), "42");
  EXPECT_EQ(spans[1].parent_id, 0x2222222222222222);
  EXPECT_EQ(TextOf(spans[1], "lockkeeper.lock"), "b");
}

TEST_F(CallSpanTest, RejectedOperationOfASessionHasItsSpan) {
  SessionCaller session(channel_);
  session.Open();
  v1::SessionOperation operation = support::AcquireOperation(1, "a{b}", kLeaseId);
  operation.set_traceparent(kSampled);
  ASSERT_TRUE(session.Send({operation}));
  ASSERT_TRUE(session.ReadResult().has_value());

  EXPECT_EQ(TextOf(TheSpan(), "lockkeeper.reason"), "INVALID_FIELD");
}

}  // namespace
}  // namespace lockkeeper::rpc
