// SPDX-License-Identifier: Apache-2.0
//
// The audit trail of a real daemon: what is in it and what never is, SIGHUP, and disks that are
// slow or full.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "access/token_file.h"
#include "grpcpp/client_context.h"
#include "os/descriptor.h"
#include "support/process/cli_process.h"
#include "support/process/daemon_process.h"
#include "support/process/http_get.h"
#include "support/process/redis_server.h"
#include "support/rpc/bearer_channel.h"
#include "support/rpc/deadline.h"
#include "support/rpc/lock_client.h"
#include "support/rpc/lock_requests.h"
#include "support/rpc/session_caller.h"

namespace lockkeeper {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using support::AcquireOf;
using support::DaemonProcess;
using support::ExtendOf;
using support::LockClient;
using support::ReleaseOf;
using support::WaitUntil;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using Lines = std::vector<std::string>;
using Settings = std::vector<std::pair<std::string, std::string>>;

constexpr char kPolicy[] =
    "roles:\n"
    "  worker: {rules: [{verbs: [acquire, extend, release, fence], prefixes: [jobs/]}]}\n"
    "  frugal: {rules: [{verbs: acquire, prefixes: [jobs/]}], quotas: {leases: 1}}\n"
    "  operator: {rules: [{verbs: force-release, prefixes: ['']}, {verbs: [admin, "
    "drain, end-quarantine]}]}\n"
    "bindings:\n"
    "  - {roles: worker, principals: ci}\n"
    "  - {roles: frugal, principals: few}\n"
    "  - {roles: operator, principals: ann}\n";

class AuditTest : public testing::Test {
 protected:
  static constexpr std::array kNames = {"ci", "few", "ann"};

  void Write(const std::string& name, const std::string& text) { directory_.Replace(name, text); }

  void Start(const std::string& to, const Settings& more = {}) {
    std::string tokens = "tokens:\n";
    for (const std::string name : kNames) {
      tokens += "  - {name: " + name + ", sha256: " + access::HashToken("token of " + name) + "}\n";
    }
    Write("tokens.yaml", tokens);
    Write("policy.yaml", kPolicy);
    daemon_ = std::make_unique<DaemonProcess>(support::DaemonProcessOptions{
        .program = LOCKKEEPERD_PROGRAM,
        .arguments = {"--redis", redis_.url(), "--listen", "127.0.0.1:0", "--http-listen",
                      "127.0.0.1:0", "--policy", directory_.Path("policy.yaml"), "--tokens",
                      directory_.Path("tokens.yaml"), "--audit-to", to},
        .environment = more});
    daemon_->WaitUntilReady();
  }

  // A connection of `who`, who may be nobody known.
  std::shared_ptr<grpc::Channel> ChannelOf(const std::string& who) const {
    return support::NewBearerChannel(daemon_->GrpcAddress(), "Bearer token of " + who);
  }
  LockClient As(const std::string& who) const { return LockClient(ChannelOf(who)); }

  // Acquires, and remembers the lease id.
  v1::Lease Acquire(LockClient client, const std::string& name, milliseconds ttl = seconds(30)) {
    const auto answer = client.Acquire(AcquireOf(name, NewId(), ttl));
    EXPECT_TRUE(answer.response.has_lease()) << name << " " << answer.reason;
    return answer.response.lease();
  }
  const std::string& NewId() { return *lease_ids_.insert(support::NewLeaseId()).first; }

  std::string Read(const std::string& path) const {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::string Trail() const { return Read(path_); }
  static Lines LinesOf(const std::string& text) {
    return absl::StrSplit(text, '\n', absl::SkipEmpty());
  }

  // The lines that begin with these fields, after the time. "a,b" is found by its fields in a row.
  static Lines With(const std::string& text, const std::string& fields) {
    Lines found;
    for (const std::string& line : LinesOf(text)) {
      if (line.find(fields) != std::string::npos) found.push_back(line);
    }
    return found;
  }

  // Waits until the only line with `fields` is there, and returns it.
  std::string TheLine(const std::string& fields) const {
    EXPECT_TRUE(WaitUntil([&] { return !With(Trail(), fields).empty(); })) << fields;
    const Lines lines = With(Trail(), fields);
    EXPECT_THAT(lines, SizeIs(1)) << fields;
    return lines.empty() ? "" : lines[0];
  }

  std::string Metrics() const { return support::HttpGet(daemon_->HttpAddress(), "/metrics").body; }

  support::TemporaryDirectory directory_;
  const std::string path_ = directory_.Path("audit.jsonl");
  support::RedisServer redis_;
  std::unique_ptr<DaemonProcess> daemon_;
  std::set<std::string> lease_ids_;
};

std::string Fields(const std::string& verb, const std::string& outcome, const std::string& lock) {
  return R"("verb":")" + verb + R"(","outcome":")" + outcome + R"(","lock":")" + lock + "\"";
}

// The fields of a lease, as a message has it.
std::string TokenOf(const v1::Lease& lease) {
  return "\"fencing_token\":" + std::to_string(lease.fencing_token());
}

grpc::Status ForceRelease(const std::shared_ptr<grpc::Channel>& channel, const std::string& name) {
  grpc::ClientContext context;
  support::SetDeadline(context, seconds(20));
  admin::v1::ForceReleaseRequest request;
  request.set_name(name);
  request.set_reason("stuck since noon");
  request.set_owner("ann@desk");
  request.set_now(true);
  admin::v1::ForceReleaseResponse response;
  return admin::v1::AdminService::NewStub(channel)->ForceRelease(&context, request, &response);
}

grpc::Status EndQuarantine(const std::shared_ptr<grpc::Channel>& channel, int64_t epoch) {
  grpc::ClientContext context;
  support::SetDeadline(context, seconds(20));
  admin::v1::EndQuarantineRequest request;
  request.set_epoch(epoch);
  request.set_reason("all jobs are stopped");
  request.set_accept_two_holders(true);
  admin::v1::EndQuarantineResponse response;
  return admin::v1::AdminService::NewStub(channel)->EndQuarantine(&context, request, &response);
}

grpc::Status Drain(const std::shared_ptr<grpc::Channel>& channel) {
  grpc::ClientContext context;
  support::SetDeadline(context, seconds(20));
  admin::v1::DrainRequest request;
  request.set_reason("new kernel");
  admin::v1::DrainResponse response;
  return admin::v1::AdminService::NewStub(channel)->Drain(&context, request, &response);
}

TEST_F(AuditTest, UnaryCallsLeaveARecordWithPrincipalAndToken) {
  Start(path_);
  LockClient ci = As("ci");
  const v1::Lease one = Acquire(As("ci"), "jobs/1");
  EXPECT_TRUE(ci.Release(ReleaseOf("jobs/1", one.lease_id())).response.released());
  EXPECT_FALSE(ci.Release(ReleaseOf("jobs/none", NewId())).response.released());

  const v1::Lease gone = Acquire(As("ci"), "jobs/2", milliseconds(100));
  v1::Lease next;
  EXPECT_TRUE(WaitUntil([&] {
    next = ci.Acquire(AcquireOf("jobs/2", NewId())).response.lease();
    return !next.name().empty();
  }));
  EXPECT_EQ(ci.Extend(ExtendOf("jobs/2", gone.lease_id())).reason, "LEASE_LOST");
  EXPECT_TRUE(ci.Extend(ExtendOf("jobs/2", next.lease_id())).ok());
  EXPECT_TRUE(ForceRelease(ChannelOf("ann"), "jobs/2").ok());

  EXPECT_THAT(
      TheLine(Fields("acquire", "granted", "jobs/1")),
      AllOf(HasSubstr(TokenOf(one)), HasSubstr(R"("principal":"ci","peer":"ipv4:127.0.0.1:)"),
            HasSubstr(R"("request_id":")"), HasSubstr(R"("ttl_ms":30000)")));
  EXPECT_THAT(TheLine(Fields("release", "released", "jobs/1")),
              AllOf(HasSubstr(TokenOf(one)), HasSubstr(R"("principal":"ci")")));
  EXPECT_THAT(TheLine(Fields("release", "not_released", "jobs/none")),
              AllOf(HasSubstr(R"("principal":"ci")"), HasSubstr(R"("reason":"NOT_HOLDER")")));
  EXPECT_THAT(TheLine(Fields("expire", "expired", "jobs/2")),
              AllOf(HasSubstr("\"next_" + TokenOf(next).substr(1)), Not(HasSubstr("principal"))));
  EXPECT_THAT(TheLine(Fields("extend", "lease_lost", "jobs/2")),
              AllOf(HasSubstr(R"("principal":"ci")"), HasSubstr(R"("reason":"LEASE_LOST")")));
  EXPECT_THAT(TheLine(Fields("force-release", "force_released", "jobs/2")),
              AllOf(HasSubstr(R"("principal":"ann")"), HasSubstr(R"("owner":"ann@desk")"),
                    HasSubstr(R"("audit_reason":"stuck since noon")")));
  EXPECT_THAT(With(Trail(), Fields("acquire", "granted", "jobs/2")), SizeIs(2));
  EXPECT_THAT(With(Trail(), Fields("extend", "extended", "jobs/2")), SizeIs(0));
  daemon_->WaitForLog("event=audit.force_release ");
  EXPECT_THAT(daemon_->Stderr(), HasSubstr(" principal=ann ")) << "in the log, too";
}

TEST_F(AuditTest, RejectionsOfCallersLeaveARecordAndThoseOfRequestsNone) {
  Start(path_);
  EXPECT_EQ(As("ci").Acquire(AcquireOf("other/1", NewId())).reason, "PERMISSION_DENIED");
  EXPECT_EQ(As("stranger").Acquire(AcquireOf("jobs/3", NewId())).reason, "UNAUTHENTICATED");
  Acquire(As("few"), "jobs/4");
  EXPECT_EQ(As("few").Acquire(AcquireOf("jobs/5", NewId())).reason, "LEASE_LIMIT");
  EXPECT_EQ(As("ci").Acquire(AcquireOf("jobs/{}", NewId())).reason, "INVALID_FIELD");
  EXPECT_EQ(As("ci").GetLock("jobs/1").reason, "PERMISSION_DENIED");
  EXPECT_FALSE(ForceRelease(ChannelOf("ci"), "jobs/4").ok());
  EXPECT_FALSE(EndQuarantine(ChannelOf("ci"), 1).ok());
  support::SessionCaller session(ChannelOf("ci"));
  session.Open();
  session.Send({support::AcquireOperation(1, "other/2", NewId())});
  EXPECT_EQ(session.ReadResult()->error().reason(), v1::ERROR_REASON_PERMISSION_DENIED);

  EXPECT_THAT(TheLine(Fields("acquire", "error", "other/1")),
              AllOf(HasSubstr(R"("principal":"ci")"), HasSubstr(R"("reason":"PERMISSION_DENIED")"),
                    HasSubstr(R"("problem":"principal \"ci\" (token) does not have the right)")));
  EXPECT_THAT(
      TheLine(Fields("acquire", "error", "jobs/3")),
      AllOf(Not(HasSubstr("principal")), HasSubstr(R"("peer":"ipv4:127.0.0.1:)"),
            HasSubstr(R"("reason":"UNAUTHENTICATED")"), Not(HasSubstr("token of stranger"))));
  EXPECT_THAT(TheLine(Fields("acquire", "error", "jobs/5")),
              AllOf(HasSubstr(R"("principal":"few")"), HasSubstr(R"("reason":"LEASE_LIMIT")")));
  EXPECT_THAT(TheLine(Fields("inspect", "error", "jobs/1")), HasSubstr(R"("principal":"ci")"));
  EXPECT_THAT(TheLine(Fields("force-release", "error", "jobs/4")),
              AllOf(HasSubstr(R"("principal":"ci")"), HasSubstr("PERMISSION_DENIED")));
  EXPECT_THAT(TheLine(R"("verb":"end-quarantine","outcome":"error")"),
              AllOf(HasSubstr(R"("principal":"ci")"), HasSubstr(R"("epoch":1)")));
  EXPECT_THAT(TheLine(Fields("acquire", "error", "other/2")), HasSubstr(R"("principal":"ci")"));
  EXPECT_THAT(LinesOf(Trail()), SizeIs(8)) << Trail();
}

TEST_F(AuditTest, SessionsLeaveARecordOfEachLease) {
  Start(path_);
  support::SessionCaller session(ChannelOf("ci"));
  v1::SessionOpen open;
  open.set_owner("host:17");
  open.set_release_on_close(true);
  session.Open(open);
  session.Send({support::AcquireOperation(1, "jobs/1", NewId()),
                support::AcquireOperation(2, "jobs/2", NewId()),
                support::AcquireOperation(3, "jobs/3", NewId())});
  std::map<std::string, v1::Lease> leases;
  for (int i = 0; i < 3; ++i) {
    const v1::Lease lease = session.ReadResult()->acquire().lease();
    leases[lease.name()] = lease;
  }
  session.Send({support::ReleaseOperation(4, "jobs/1", leases["jobs/1"].lease_id())});
  EXPECT_TRUE(session.ReadResult()->release().released());
  v1::SessionRequest adopt;
  adopt.mutable_adopt()->set_name("jobs/1");
  adopt.mutable_adopt()->set_lease_id(leases["jobs/1"].lease_id());
  adopt.mutable_adopt()->set_fencing_token(leases["jobs/1"].fencing_token());
  session.Send(adopt);
  EXPECT_TRUE(session.Read()->adopt_result().has_error());
  // A heartbeat asks for leases that have less than two thirds of their ttl left, so this one gets
  // a short one, and another daemon's administrator ends it.
  EXPECT_TRUE(ForceRelease(ChannelOf("ann"), "jobs/2").ok());
  session.Send({support::ExtendOperation(5, "jobs/2", leases["jobs/2"].lease_id())});
  EXPECT_EQ(session.ReadResult()->error().reason(), v1::ERROR_REASON_LEASE_LOST);
  session.Close();
  while (session.Read()) {
  }

  for (const auto& [name, lease] : leases) {
    EXPECT_THAT(TheLine(Fields("acquire", "granted", name)),
                AllOf(HasSubstr(TokenOf(lease)), HasSubstr(R"("principal":"ci")"),
                      HasSubstr(R"("owner":"host:17")")));
  }
  EXPECT_THAT(TheLine(Fields("release", "released", "jobs/1")),
              AllOf(HasSubstr(TokenOf(leases["jobs/1"])), HasSubstr(R"("principal":"ci")")));
  EXPECT_THAT(TheLine(Fields("extend", "lease_lost", "jobs/1")), HasSubstr(R"("owner":"host:17")"))
      << "it could not be adopted";
  EXPECT_THAT(TheLine(Fields("extend", "lease_lost", "jobs/2")),
              AllOf(HasSubstr(TokenOf(leases["jobs/2"])), HasSubstr(R"("principal":"ci")")));
  EXPECT_THAT(TheLine(Fields("release", "released", "jobs/3")),
              AllOf(HasSubstr(TokenOf(leases["jobs/3"])), HasSubstr(R"("principal":"ci")"),
                    HasSubstr(R"("owner":"host:17")")))
      << "as the session was closed";
}

TEST_F(AuditTest, LeaseThatAHeartbeatDoesNotFindIsALoss) {
  Start(path_);
  support::SessionCaller session(ChannelOf("ci"));
  session.Open();
  v1::SessionOperation acquire = support::AcquireOperation(1, "jobs/1", NewId());
  acquire.mutable_acquire()->mutable_ttl()->set_nanos(100'000'000);
  session.Send({acquire});
  const v1::AcquireResponse acquired = session.ReadResult()->acquire();
  EXPECT_TRUE(acquired.has_lease());
  EXPECT_TRUE(ForceRelease(ChannelOf("ann"), "jobs/1").ok());
  uint64_t number = 0;
  EXPECT_TRUE(WaitUntil([&] {
    session.Heartbeat(++number);
    return session.Read()->heartbeat_result().not_extended_size() == 1;
  }));

  EXPECT_THAT(TheLine(Fields("extend", "lease_lost", "jobs/1")),
              AllOf(HasSubstr(TokenOf(acquired.lease())), HasSubstr(R"("principal":"ci")"),
                    HasSubstr("a heartbeat did not extend")));
}

TEST_F(AuditTest, LossOfTheStoreLeavesRecordsOfReassertionAndEndOfQuarantine) {
  Start(path_);
  const v1::Lease lease = Acquire(As("ci"), "jobs/1");
  redis_.Run({"FLUSHALL"});
  daemon_->WaitForLog("event=guard.loss_suspected");
  v1::ExtendRequest extend = ExtendOf("jobs/1", lease.lease_id());
  extend.set_fencing_token(lease.fencing_token());
  extend.set_reassertion("mine, honestly");
  EXPECT_EQ(As("ci").Extend(extend).reason, "LEASE_LOST");
  extend.set_reassertion(lease.reassertion());
  EXPECT_EQ(As("ci").Extend(extend).reason, "");
  EXPECT_TRUE(EndQuarantine(ChannelOf("ann"), 1).ok());
  EXPECT_TRUE(EndQuarantine(ChannelOf("ann"), 2).ok());

  EXPECT_THAT(TheLine(Fields("extend", "extended", "jobs/1")),
              AllOf(HasSubstr(TokenOf(lease)), HasSubstr(R"("principal":"ci")"),
                    HasSubstr(R"("reasserted":true)")));
  EXPECT_THAT(TheLine(Fields("extend", "lease_lost", "jobs/1")),
              AllOf(HasSubstr("does not prove it"), Not(HasSubstr("honestly"))));
  EXPECT_THAT(TheLine(R"("verb":"end-quarantine","outcome":"no_quarantine")"),
              AllOf(HasSubstr(R"("principal":"ann")"), HasSubstr(R"("epoch":1)")));
  EXPECT_THAT(TheLine(R"("verb":"end-quarantine","outcome":"quarantine_ended")"),
              AllOf(HasSubstr(R"("principal":"ann")"), HasSubstr(R"("epoch":2)"),
                    HasSubstr(R"("audit_reason":"all jobs are stopped")")));
}

TEST_F(AuditTest, DrainLeavesARecordAlsoIfItIsRejected) {
  Start(path_);
  EXPECT_FALSE(Drain(ChannelOf("ci")).ok());
  EXPECT_TRUE(Drain(ChannelOf("ann")).ok());
  EXPECT_EQ(daemon_->ExitCode(), 0);

  EXPECT_THAT(TheLine(R"("verb":"drain","outcome":"error")"),
              AllOf(HasSubstr(R"("principal":"ci")"), HasSubstr("PERMISSION_DENIED")));
  EXPECT_THAT(TheLine(R"("verb":"drain","outcome":"done")"),
              AllOf(HasSubstr(R"("principal":"ann")"), HasSubstr(R"("started":true)"),
                    HasSubstr(R"("audit_reason":"new kernel")")));
}

TEST_F(AuditTest, ChangedPolicyLeavesARecordUsedOrRefused) {
  Start(path_);
  Write("policy.yaml", "roles: {worker: {rulez: []}}\n");
  const std::string refused = TheLine(R"("verb":"reload","outcome":"error","files":"access")");
  EXPECT_THAT(refused, HasSubstr("roles.worker.rulez: unknown key"));
  Write("policy.yaml", "roles: {nobody: {rules: []}}\n");
  TheLine(R"("verb":"reload","outcome":"done","files":"access"})");
}

// Grants, releases, losses, rejections, by calls and by sessions.
TEST_F(AuditTest, NoRecordHasALeaseId) {
  Start(path_);
  LockClient ci = As("ci");
  const v1::Lease lease = Acquire(As("ci"), "jobs/1");
  ci.Acquire(AcquireOf("jobs/1", NewId()));
  ci.Release(ReleaseOf("jobs/1", lease.lease_id()));
  ci.Extend(ExtendOf("jobs/1", lease.lease_id()));
  ci.Acquire(AcquireOf("other/1", NewId()));
  // An id that the server makes, and one in the form of a UUID.
  lease_ids_.insert(ci.Acquire(AcquireOf("jobs/2", "")).response.lease().lease_id());
  ci.Acquire(AcquireOf("jobs/3", "00112233-4455-6677-8899-AABBCCDDEEFF"));
  lease_ids_.insert("00112233445566778899aabbccddeeff");
  {
    support::SessionCaller session(ChannelOf("ci"));
    v1::SessionOpen open;
    open.set_release_on_close(true);
    session.Open(open);
    session.Send({support::AcquireOperation(1, "jobs/4", NewId())});
    EXPECT_TRUE(session.ReadResult()->acquire().has_lease());
    session.Close();
    while (session.Read()) {
    }
  }
  TheLine(Fields("release", "released", "jobs/4"));
  daemon_->Signal(SIGTERM);
  EXPECT_EQ(daemon_->ExitCode(), 0);

  const std::string trail = Trail();
  EXPECT_GE(LinesOf(trail).size(), 8U);
  // Nor a part of one, or one without its dashes.
  const std::string plain = absl::StrReplaceAll(trail, {{"-", ""}});
  for (const std::string& id : lease_ids_) EXPECT_THAT(plain, Not(HasSubstr(id.substr(0, 12))));
  EXPECT_FALSE(std::regex_search(plain, std::regex("[0-9a-fA-F]{32}")));
}

TEST_F(AuditTest, FileIsReopenedOnHangup) {
  Start(path_);
  Acquire(As("ci"), "jobs/1");
  TheLine(Fields("acquire", "granted", "jobs/1"));
  const std::string old = directory_.Path("audit.1");
  ASSERT_EQ(std::rename(path_.c_str(), old.c_str()), 0);
  Acquire(As("ci"), "jobs/2");
  EXPECT_TRUE(WaitUntil([&] { return !With(Read(old), "jobs/2").empty(); }));
  daemon_->Signal(SIGHUP);
  daemon_->WaitForLog("event=audit.reopened");
  Acquire(As("ci"), "jobs/3");

  TheLine(Fields("acquire", "granted", "jobs/3"));
  EXPECT_THAT(LinesOf(Read(old)), SizeIs(2));
  EXPECT_THAT(LinesOf(Trail()), SizeIs(1));
  struct stat status{};
  ASSERT_EQ(stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
}

TEST_F(AuditTest, RecordsThatWaitAreWrittenBeforeTheDaemonEnds) {
  Start(path_);
  LockClient ci = As("ci");
  constexpr int kMany = 200;
  for (int i = 0; i < kMany; ++i) ci.Acquire(AcquireOf("jobs/" + std::to_string(i), NewId()));
  daemon_->Signal(SIGTERM);
  EXPECT_EQ(daemon_->ExitCode(), 0);

  EXPECT_THAT(With(Trail(), R"("outcome":"granted")"), SizeIs(kMany));
}

TEST_F(AuditTest, StandardOutputHasTheRecordsAfterTheReadyLine) {
  Start("stdout");
  Acquire(As("ci"), "jobs/1");
  EXPECT_TRUE(WaitUntil([&] { return !With(daemon_->Stdout(), "jobs/1").empty(); }));

  const Lines lines = LinesOf(daemon_->Stdout());
  ASSERT_THAT(lines, SizeIs(2));
  EXPECT_THAT(lines[0], testing::StartsWith("lockkeeperd ready "));
  EXPECT_THAT(lines[1], testing::StartsWith("{\"time\":\""));
}

TEST_F(AuditTest, DiskThatIsFullRefusesGrantsAndNothingElseIfRecordsAreRequired) {
  Start("/dev/full", {{"LOCKKEEPERD_AUDIT_REQUIRED", "true"}});
  LockClient ci = As("ci");
  const v1::Lease lease = Acquire(As("ci"), "jobs/1");
  daemon_->WaitForLog("event=audit.write_failed");

  const auto refused = ci.Acquire(AcquireOf("jobs/2", NewId()));
  EXPECT_EQ(refused.reason, "AUDIT_UNAVAILABLE");
  EXPECT_EQ(refused.status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(redis_.Run({"EXISTS", "lk:{jobs/2}"}).integer, 0) << "the store was not asked";
  support::SessionCaller session(ChannelOf("ci"));
  session.Open();
  session.Send({support::AcquireOperation(1, "jobs/3", NewId())});
  EXPECT_EQ(session.ReadResult()->error().reason(), v1::ERROR_REASON_AUDIT_UNAVAILABLE);

  EXPECT_TRUE(ci.Extend(ExtendOf("jobs/1", lease.lease_id())).ok());
  EXPECT_TRUE(ci.Release(ReleaseOf("jobs/1", lease.lease_id())).response.released());
  EXPECT_THAT(daemon_->Stderr(), HasSubstr("problem=\"No space left on device\""));
  EXPECT_THAT(Metrics(), Not(HasSubstr("\nlockkeeper_audit_write_failed_total 0\n")));
  const std::string cause = "acquires are refused until they can: No space left on device\n";
  EXPECT_THAT(support::HttpGet(daemon_->HttpAddress(), "/readyz").body,
              AllOf(testing::StartsWith("ready\n"), HasSubstr(cause)))
      << "holders go on, so it is ready";
}

TEST_F(AuditTest, DiskThatIsFullDoesNotMatterIfRecordsAreNotRequired) {
  Start("/dev/full");
  Acquire(As("ci"), "jobs/1");
  daemon_->WaitForLog("event=audit.write_failed");
  Acquire(As("ci"), "jobs/2");
}

// A pipe that nobody reads is a disk that takes its time.
class SlowDiskTest : public AuditTest {
 protected:
  SlowDiskTest() {
    EXPECT_EQ(mkfifo(path_.c_str(), 0600), 0);
    reader_ = os::Descriptor(open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  }

  // What the pipe has now, and what is written meanwhile.
  void ReadOn() {
    std::array<char, 4'096> buffer;
    for (;;) {
      const ssize_t size = read(reader_.get(), buffer.data(), buffer.size());
      if (size <= 0) return;
      text_.append(buffer.data(), static_cast<size_t>(size));
    }
  }

  os::Descriptor reader_;
  std::string text_;
};

TEST_F(SlowDiskTest, GrantsAreRefusedWhenTheQueueIsFullAndNoRecordOfOneIsLost) {
  Start(path_, {{"LOCKKEEPERD_AUDIT_REQUIRED", "true"}, {"LOCKKEEPERD_AUDIT_QUEUE_MAX", "100"}});
  LockClient ci = As("ci");
  size_t granted = 0;
  std::string reason;
  while (reason.empty() && granted < 10'000) {
    const auto answer = ci.Acquire(AcquireOf("jobs/" + std::to_string(granted), NewId()));
    reason = answer.reason;
    if (answer.response.has_lease()) ++granted;
  }
  EXPECT_EQ(reason, "AUDIT_UNAVAILABLE");
  EXPECT_GE(granted, 100U);

  EXPECT_TRUE(WaitUntil([&] {
    ReadOn();
    return ci.Acquire(AcquireOf("jobs/last", NewId())).response.has_lease();
  })) << "it goes on";
  EXPECT_TRUE(WaitUntil([&] {
    ReadOn();
    return !With(text_, Fields("acquire", "granted", "jobs/last")).empty();
  }));
  EXPECT_THAT(With(text_, R"("outcome":"granted")"), SizeIs(granted + 1));
  EXPECT_THAT(Metrics(), HasSubstr("\nlockkeeper_audit_dropped_total 0\n"));
}

TEST_F(SlowDiskTest, WhatIsDroppedIsCountedAndNobodyWaits) {
  Start(path_, {{"LOCKKEEPERD_AUDIT_QUEUE_MAX", "100"}});
  LockClient ci = As("ci");
  constexpr size_t kMany = 1'000;
  for (size_t i = 0; i < kMany; ++i) {
    ASSERT_TRUE(ci.Acquire(AcquireOf("jobs/" + std::to_string(i), NewId())).response.has_lease());
  }
  EXPECT_TRUE(WaitUntil([&] {
    ReadOn();
    return text_.find("\"dropped\":") != std::string::npos && text_.back() == '\n';
  }));

  const Lines drops = With(text_, R"("verb":"drop","outcome":"error")");
  ASSERT_THAT(drops, SizeIs(1));
  const size_t dropped = std::stoul(drops[0].substr(drops[0].find("\"dropped\":") + 10));
  EXPECT_EQ(With(text_, R"("outcome":"granted")").size() + dropped, kMany);
  EXPECT_THAT(Metrics(),
              HasSubstr("\nlockkeeper_audit_dropped_total " + std::to_string(dropped) + "\n"));
  daemon_->WaitForLog("event=audit.dropped");
}

// Its line cannot be written for ever.
TEST_F(SlowDiskTest, DaemonEndsAllTheSame) {
  Start(path_, {{"LOCKKEEPERD_AUDIT_QUEUE_MAX", "1000"}});
  LockClient ci = As("ci");
  for (int i = 0; i < 500; ++i) ci.Acquire(AcquireOf("jobs/" + std::to_string(i), NewId()));
  daemon_->Signal(SIGTERM);

  EXPECT_EQ(daemon_->ExitCode(), 0);
  EXPECT_THAT(daemon_->Stderr(), HasSubstr("event=audit.lost"));
}

TEST_F(AuditTest, PlaceThatCannotBeUsedIsNamedAtTheStart) {
  const auto start = [&](const std::vector<std::string>& arguments, const Settings& more = {}) {
    DaemonProcess daemon(
        {.program = LOCKKEEPERD_PROGRAM, .arguments = arguments, .environment = more});
    const int code = daemon.ExitCode();
    return std::to_string(code) + " " + daemon.Stderr();
  };
  const Lines base = {"--redis",     redis_.url(),    "--listen",
                      "127.0.0.1:0", "--http-listen", "127.0.0.1:0"};
  const auto with = [&](const std::string& to) {
    Lines words = base;
    words.insert(words.end(), {"--audit-to", to});
    return words;
  };
  EXPECT_THAT(start(with("sylog")), AllOf(HasSubstr("78 "), HasSubstr("must be stdout, syslog")));
  EXPECT_THAT(start(with(directory_.Path("none/audit"))),
              AllOf(HasSubstr("69 "), HasSubstr("none/audit cannot be opened: No such file")));
  EXPECT_THAT(start(base, {{"LOCKKEEPERD_AUDIT_REQUIRED", "true"}}),
              AllOf(HasSubstr("78 "), HasSubstr("audit.required"), HasSubstr("needs --audit-to")));
}

}  // namespace
}  // namespace lockkeeper
