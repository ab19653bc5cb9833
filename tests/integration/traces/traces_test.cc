// SPDX-License-Identifier: Apache-2.0
//
// The traces of a real daemon at a collector on a real socket: whose children the spans are, what
// they say, and what a collector that is away costs.
#include <gmock/gmock.h>
#include <grpcpp/client_context.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/limits.h"
#include "support/otlp/fake_collector.h"
#include "support/process/cli_process.h"
#include "support/process/daemon_process.h"
#include "support/process/http_get.h"
#include "support/process/redis_server.h"
#include "support/process/temporary_directory.h"
#include "support/rpc/deadline.h"
#include "support/rpc/lock_client.h"
#include "support/rpc/lock_requests.h"
#include "support/rpc/session_caller.h"

namespace lockkeeper {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using support::AcquireOf;
using support::AttributeOf;
using support::DaemonProcess;
using support::FakeCollector;
using support::HexOf;
using support::LockClient;
using support::OtlpSpan;
using support::SessionCaller;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr char kTraceId[] = "0af7651916cd43dd8448eb211c80319c";
constexpr char kParentId[] = "b7ad6b7169203331";
const std::string kSampled = std::string("00-") + kTraceId + "-" + kParentId + "-01";
const std::string kUnsampled = std::string("00-") + kTraceId + "-" + kParentId + "-00";
constexpr char kAcquire[] = "lockkeeper.v1.LockService/Acquire";

class TracesTest : public testing::Test {
 protected:
  using Arguments = std::vector<std::string>;

  // A daemon whose spans go to `endpoint`. Without a context nothing is traced, unless `ratio` says
  // so.
  void Start(const std::string& endpoint, const Arguments& more = {}, double ratio = 0) {
    Arguments arguments = {"--redis",
                           redis_.url(),
                           "--listen",
                           "127.0.0.1:0",
                           "--http-listen",
                           "127.0.0.1:0",
                           "--traces-sample-ratio",
                           std::to_string(ratio)};
    if (!endpoint.empty()) arguments.insert(arguments.end(), {"--traces-endpoint", endpoint});
    arguments.insert(arguments.end(), more.begin(), more.end());
    daemon_ = std::make_unique<DaemonProcess>(
        support::DaemonProcessOptions{.program = LOCKKEEPERD_PROGRAM, .arguments = arguments});
    daemon_->WaitUntilReady();
  }

  // Acquires a free lock in the context of a caller.
  void Acquire(const std::string& name, const std::string& traceparent) {
    LockClient client(daemon_->GrpcAddress());
    grpc::ClientContext context;
    support::SetDeadline(context, seconds(20));
    if (!traceparent.empty()) context.AddMetadata("traceparent", traceparent);
    v1::AcquireResponse response;
    const grpc::Status status = client.locks().Acquire(&context, AcquireOf(name), &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    ASSERT_TRUE(response.has_lease());
  }

  // Waits for the span called `name` of the trace of the lock.
  static std::optional<OtlpSpan> Find(FakeCollector& collector, const std::string& name,
                                      const std::string& lock = "") {
    return collector.WaitFor([&](const OtlpSpan& span) {
      return span.name() == name && (lock.empty() || AttributeOf(span, "lockkeeper.lock") == lock);
    });
  }
  static std::optional<OtlpSpan> ChildOf(FakeCollector& collector, const OtlpSpan& parent,
                                         const std::string& name) {
    return collector.WaitFor([&](const OtlpSpan& span) {
      return span.parent_span_id() == parent.span_id() && span.name() == name;
    });
  }

  double Metric(const std::string& name) const {
    const std::string text = support::HttpGet(daemon_->HttpAddress(), "/metrics").body;
    const size_t found = text.find("\n" + name + " ");
    return found == std::string::npos ? -1 : std::stod(text.substr(found + name.size() + 2));
  }

  // Sends so many operations that each has two spans, through sessions.
  void AcquireMany(size_t operations) {
    SessionCaller session(LockClient(daemon_->GrpcAddress()).channel());
    session.Open();
    size_t sent = 0;
    while (sent < operations) {
      std::vector<v1::SessionOperation> batch;
      for (int i = 0; i < 512; ++i, ++sent) {
        batch.push_back(support::AcquireOperation(sent + 1, "many/" + std::to_string(sent),
                                                  support::NewLeaseId()));
      }
      ASSERT_TRUE(session.Send(batch));
      for (size_t i = 0; i < batch.size(); ++i) ASSERT_TRUE(session.ReadResult().has_value());
    }
  }

  support::RedisServer redis_;
  std::unique_ptr<DaemonProcess> daemon_;
};

TEST_F(TracesTest, UnaryAcquireIsAChildOfItsCaller) {
  FakeCollector collector;
  Start(collector.endpoint());
  Acquire("jobs/1", kSampled);

  const auto rpc = Find(collector, kAcquire, "jobs/1");
  ASSERT_TRUE(rpc.has_value());
  EXPECT_EQ(HexOf(rpc->trace_id()), kTraceId);
  EXPECT_EQ(HexOf(rpc->parent_span_id()), kParentId);
  EXPECT_EQ(rpc->kind(), OtlpSpan::SPAN_KIND_SERVER);
  EXPECT_EQ(AttributeOf(*rpc, "lockkeeper.outcome"), "granted");
  EXPECT_NE(AttributeOf(*rpc, "lockkeeper.fencing_token"), "");
  const auto store = ChildOf(collector, *rpc, "store");
  ASSERT_TRUE(store.has_value());
  EXPECT_EQ(store->kind(), OtlpSpan::SPAN_KIND_CLIENT);
  EXPECT_EQ(AttributeOf(*store, "db.system"), "redis");
  EXPECT_EQ(AttributeOf(*store, "db.operation.name"), "acquire");
  EXPECT_LE(rpc->start_time_unix_nano(), store->start_time_unix_nano());
  EXPECT_LE(store->start_time_unix_nano(), store->end_time_unix_nano());
  EXPECT_LE(store->end_time_unix_nano(), rpc->end_time_unix_nano());

  const auto batches = collector.Batches();
  const auto& resource = batches.at(0).resource_spans(0).resource();
  std::string service;
  for (const auto& attribute : resource.attributes()) {
    if (attribute.key() == "service.name") service = attribute.value().string_value();
  }
  EXPECT_EQ(service, "lockkeeper");
}

TEST_F(TracesTest, OperationOfASessionIsAChildOfItsOwnCaller) {
  FakeCollector collector;
  Start(collector.endpoint());
  SessionCaller session(LockClient(daemon_->GrpcAddress()).channel());
  session.Open();
  v1::SessionOperation operation = support::AcquireOperation(1, "jobs/2", support::NewLeaseId());
  operation.set_traceparent(kSampled);
  ASSERT_TRUE(
      session.Send({operation, support::AcquireOperation(2, "other", support::NewLeaseId())}));
  ASSERT_TRUE(session.ReadResult().has_value());
  ASSERT_TRUE(session.ReadResult().has_value());

  const auto rpc = Find(collector, kAcquire, "jobs/2");
  ASSERT_TRUE(rpc.has_value());
  EXPECT_EQ(HexOf(rpc->trace_id()), kTraceId);
  EXPECT_EQ(HexOf(rpc->parent_span_id()), kParentId);
  EXPECT_TRUE(ChildOf(collector, *rpc, "store").has_value());
  for (const OtlpSpan& span : collector.Spans()) EXPECT_EQ(HexOf(span.trace_id()), kTraceId);
}

TEST_F(TracesTest, WaiterHasASpanOfItsWait) {
  FakeCollector collector;
  Start(collector.endpoint());
  LockClient holder(daemon_->GrpcAddress());
  const std::string lease_id = support::NewLeaseId();
  ASSERT_TRUE(holder.Acquire(AcquireOf("jobs/3", lease_id)).response.has_lease());
  std::thread waiter([&] {
    LockClient client(daemon_->GrpcAddress());
    grpc::ClientContext context;
    support::SetDeadline(context, seconds(30));
    context.AddMetadata("traceparent", kSampled);
    v1::AcquireRequest request = AcquireOf("jobs/3");
    request.mutable_wait_timeout()->set_seconds(20);
    v1::AcquireResponse response;
    EXPECT_TRUE(client.locks().Acquire(&context, request, &response).ok());
    EXPECT_TRUE(response.has_lease());
  });
  EXPECT_TRUE(support::WaitUntil([&] { return Metric("lockkeeper_waiters") == 1; }));
  EXPECT_TRUE(holder.Release(support::ReleaseOf("jobs/3", lease_id)).response.released());
  waiter.join();

  const auto rpc = Find(collector, kAcquire, "jobs/3");
  ASSERT_TRUE(rpc.has_value());
  const auto wait = ChildOf(collector, *rpc, "wait");
  ASSERT_TRUE(wait.has_value());
  EXPECT_EQ(wait->kind(), OtlpSpan::SPAN_KIND_INTERNAL);
  EXPECT_EQ(AttributeOf(*wait, "lockkeeper.wait.end"), "granted");
  EXPECT_EQ(AttributeOf(*wait, "lockkeeper.wait.position"), "1");
  EXPECT_LE(rpc->start_time_unix_nano(), wait->start_time_unix_nano());
  EXPECT_LE(wait->end_time_unix_nano(), rpc->end_time_unix_nano());
}

TEST_F(TracesTest, UnsampledCallerHasNoSpans) {
  FakeCollector collector;
  Start(collector.endpoint(), {}, /*ratio=*/1);
  Acquire("quiet", kUnsampled);
  Acquire("loud", "");  // Traced by the ratio, and later.

  ASSERT_TRUE(Find(collector, kAcquire, "loud").has_value());
  for (const OtlpSpan& span : collector.Spans()) {
    EXPECT_NE(HexOf(span.trace_id()), kTraceId) << span.name();
  }
}

TEST_F(TracesTest, WithoutAnEndpointNothingIsTraced) {
  Start("", {}, /*ratio=*/1);
  Acquire("a", kSampled);

  EXPECT_EQ(Metric("lockkeeper_traces_exported_total"), 0);
  EXPECT_EQ(Metric("lockkeeper_traces_dropped_total"), 0);
  EXPECT_THAT(daemon_->Stderr(), Not(HasSubstr("traces.started")));
}

TEST_F(TracesTest, CollectorThatIsAwayCostsSpansAndNothingElse) {
  int port = 0;
  {
    port = FakeCollector().port();
  }  // It is gone.
  Start("http://127.0.0.1:" + std::to_string(port), {}, /*ratio=*/1);
  Acquire("a", kSampled);
  daemon_->WaitForLog("event=traces.export_failed");
  // Each has a span of its own and one of the store.
  ASSERT_NO_FATAL_FAILURE(AcquireMany(core::limits::kSpansQueuedMax / 2 + 1'024));

  EXPECT_GT(Metric("lockkeeper_traces_dropped_total"), 0);
  EXPECT_EQ(Metric("lockkeeper_traces_exported_total"), 0);
  EXPECT_THAT(daemon_->Stderr(), HasSubstr("event=traces.dropped"));

  FakeCollector back(port);
  ASSERT_TRUE(Find(back, "store").has_value());
  daemon_->WaitForLog("event=traces.exported_again");
  EXPECT_GT(Metric("lockkeeper_traces_exported_total"), 0);
}

TEST_F(TracesTest, CollectorThatRefusesIsToldInTheLog) {
  FakeCollector collector;
  collector.Answer(grpc::Status(grpc::StatusCode::UNAUTHENTICATED, "who are you?"));
  Start(collector.endpoint());
  Acquire("a", kSampled);
  daemon_->WaitForLog("who are you?");
  EXPECT_TRUE(support::WaitUntil([&] { return Metric("lockkeeper_traces_dropped_total") == 2; }));

  collector.Answer(grpc::Status::OK);
  Acquire("b", kSampled);
  EXPECT_TRUE(Find(collector, kAcquire, "b").has_value());
}

TEST_F(TracesTest, SpansThatWaitAreSentWhenTheDaemonStops) {
  FakeCollector collector;
  Start(collector.endpoint());
  Acquire("last", kSampled);
  daemon_->Signal(SIGTERM);  // Long before the batch would have gone.

  EXPECT_EQ(daemon_->ExitCode(), 0);
  EXPECT_TRUE(Find(collector, kAcquire, "last").has_value());
}

TEST_F(TracesTest, CollectorWithTlsIsTrustedByItsCa) {
  support::TestAuthority authority;
  FakeCollector collector(0, authority.IssueForLocalhost());
  Start(collector.endpoint(), {"--traces-ca", authority.ca_file()});
  Acquire("a", kSampled);

  EXPECT_TRUE(Find(collector, kAcquire, "a").has_value());
}

TEST_F(TracesTest, CollectorOfAnotherCaGetsNothing) {
  support::TestAuthority authority;
  support::TestAuthority other("other");
  FakeCollector collector(0, authority.IssueForLocalhost());
  Start(collector.endpoint(), {"--traces-ca", other.ca_file()});
  Acquire("a", kSampled);
  daemon_->WaitForLog("event=traces.export_failed");

  EXPECT_THAT(collector.Spans(), IsEmpty());
}

TEST_F(TracesTest, NewCasAreReadWhenSpansCannotBeSent) {
  support::TestAuthority authority;
  support::TestAuthority other("other");
  const support::TemporaryDirectory directory;
  const std::string file = directory.Path("ca.pem");
  std::filesystem::copy_file(other.ca_file(), file);
  FakeCollector collector(0, authority.IssueForLocalhost());
  Start(collector.endpoint(), {"--traces-ca", file});
  Acquire("a", kSampled);
  daemon_->WaitForLog("event=traces.export_failed");
  const std::string next = directory.Path("next.pem");
  std::filesystem::copy_file(authority.ca_file(), next);
  std::filesystem::rename(next, file);

  EXPECT_TRUE(Find(collector, kAcquire, "a").has_value()) << "and nothing was lost";
}

TEST_F(TracesTest, FileOfCasThatIsNoneIsRefusedAtTheStart) {
  DaemonProcess daemon(
      {.program = LOCKKEEPERD_PROGRAM,
       .arguments = {"--redis", redis_.url(), "--traces-endpoint", "https://localhost",
                     "--traces-ca", "/does/not/exist", "--check-config"}});
  EXPECT_EQ(daemon.ExitCode(), 78);
  EXPECT_THAT(daemon.Stderr(), HasSubstr("traces.ca_file"));
}

}  // namespace
}  // namespace lockkeeper
