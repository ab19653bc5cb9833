// SPDX-License-Identifier: Apache-2.0
// Who may do what, through a real server: each kind of caller, each rpc and each operation of a
// session, on a lock that its rules name and on one that they do not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "google/protobuf/descriptor.h"
#include "lockkeeper/admin/v1/admin_service.grpc.pb.h"
#include "support/rpc/bearer_channel.h"
#include "support/rpc/deadline.h"
#include "support/rpc/error_reason.h"
#include "support/rpc/health_client.h"
#include "support/rpc/lock_requests.h"
#include "support/rpc/reflection_client.h"
#include "support/rpc/secure_channel.h"
#include "support/rpc/session_caller.h"
#include "support/rpc/watch_stream.h"
#include "support/tls/test_authority.h"
#include "tls/server_identity.h"
#include "unit/rpc/access_fixture.h"

namespace lockkeeper::rpc {
namespace {

using access::Verb;
using std::chrono::hours;
using std::chrono::seconds;
using support::CertificateWish;
using support::ClientFiles;
using support::SecureChannel;
using support::SessionCaller;
using support::TestAuthority;
using support::TlsFiles;

const std::set<Verb> kWorker = {Verb::kAcquire, Verb::kExtend, Verb::kRelease, Verb::kFence};
const std::set<Verb> kReader = {Verb::kInspect, Verb::kList};
const std::set<Verb> kWorkerAndReader = {Verb::kAcquire, Verb::kExtend,  Verb::kRelease,
                                         Verb::kFence,   Verb::kInspect, Verb::kList};
const std::set<Verb> kOperator = {Verb::kForceRelease, Verb::kEndQuarantine, Verb::kDrain,
                                  Verb::kAdmin};
const std::set<Verb> kNothing;

// One rpc, or one operation of a session: what it needs, and how it is called.
struct Way {
  const char* name;
  std::optional<Verb> verb;  // Nothing: no right.
  std::function<std::string(const std::shared_ptr<grpc::Channel>&, const std::string& lock)> call;
  bool needs_a_session = false;  // Which whoever has any right may open.
};

std::string ReasonOfCall(const std::function<grpc::Status(grpc::ClientContext&)>& call) {
  grpc::ClientContext context;
  support::SetDeadline(context, seconds(20));
  const grpc::Status status = call(context);
  return status.ok() ? "" : support::ReasonOf(status);
}

template <typename Service, typename Request, typename Response>
auto Unary(grpc::Status (Service::Stub::*method)(grpc::ClientContext*, const Request&, Response*),
           std::function<Request(const std::string& lock)> request) {
  return [method, request](const std::shared_ptr<grpc::Channel>& channel, const std::string& lock) {
    const auto stub = Service::NewStub(channel);
    Response response;
    return ReasonOfCall([&](grpc::ClientContext& context) {
      return (stub.get()->*method)(&context, request(lock), &response);
    });
  };
}

// The reason of the answer to one message of a session after its open; of the stream's end, if the
// session cannot be opened. Empty for a message without an answer.
std::string ReasonInSession(const std::shared_ptr<grpc::Channel>& channel,
                            const v1::SessionRequest& message) {
  SessionCaller session(channel, seconds(20));
  v1::SessionRequest open;
  open.mutable_open();
  session.Send(open);
  if (!session.Read()) return support::ReasonOf(session.Finish());
  session.Send(message);
  if (message.has_forget()) session.Heartbeat(1);
  while (const auto answer = session.Read()) {
    if (answer->has_results() && answer->results().results_size() > 0) {
      return NameOf(answer->results().results(0).error());
    }
    if (answer->has_heartbeat_result()) return "";
    if (answer->has_adopt_result()) return NameOf(answer->adopt_result().error());
  }
  return support::ReasonOf(session.Finish());
}

auto InSession(std::function<v1::SessionRequest(const std::string& lock)> message) {
  return [message](const std::shared_ptr<grpc::Channel>& channel, const std::string& lock) {
    return ReasonInSession(channel, message(lock));
  };
}

v1::SessionRequest BatchOf(const v1::SessionOperation& operation) {
  v1::SessionRequest message;
  *message.mutable_batch()->add_operations() = operation;
  return message;
}

std::string CallCheckAccess(const std::shared_ptr<grpc::Channel>& channel, const std::string&) {
  const auto stub = v1::LockService::NewStub(channel);
  v1::CheckAccessResponse response;
  return ReasonOfCall([&](grpc::ClientContext& context) {
    return stub->CheckAccess(&context, v1::CheckAccessRequest(), &response);
  });
}

std::string CallWatchLocks(const std::shared_ptr<grpc::Channel>& channel,
                           const admin::v1::WatchLocksRequest& request) {
  support::WatchStream watch(channel, request);
  return watch.Next() ? "" : support::ReasonOf(watch.Finish());
}

std::vector<Way> WaysOfLockService() {
  using Locks = v1::LockService;
  return {
      {"Acquire", Verb::kAcquire,
       Unary<Locks, v1::AcquireRequest, v1::AcquireResponse>(
           &Locks::Stub::Acquire,
           [](const std::string& lock) { return support::AcquireOf(lock, kLeaseId); })},
      {"Extend", Verb::kExtend,
       Unary<Locks, v1::ExtendRequest, v1::ExtendResponse>(
           &Locks::Stub::Extend,
           [](const std::string& lock) { return support::ExtendOf(lock, kLeaseId); })},
      {"Release", Verb::kRelease,
       Unary<Locks, v1::ReleaseRequest, v1::ReleaseResponse>(
           &Locks::Stub::Release,
           [](const std::string& lock) { return support::ReleaseOf(lock, kLeaseId); })},
      {"Fence", Verb::kFence,
       Unary<Locks, v1::FenceRequest, v1::FenceResponse>(
           &Locks::Stub::Fence, [](const std::string& lock) { return support::FenceOf(lock, 1); })},
      {"CheckAccess", std::nullopt, CallCheckAccess},
  };
}

std::vector<Way> WaysOfAdminService() {
  using Admin = admin::v1::AdminService;
  return {
      {"GetLock", Verb::kInspect,
       Unary<Admin, admin::v1::GetLockRequest, admin::v1::GetLockResponse>(
           &Admin::Stub::GetLock,
           [](const std::string& lock) {
             admin::v1::GetLockRequest request;
             request.set_name(lock);
             return request;
           })},
      {"ListLocks", Verb::kList,
       Unary<Admin, admin::v1::ListLocksRequest, admin::v1::ListLocksResponse>(
           &Admin::Stub::ListLocks,
           [](const std::string& lock) {
             admin::v1::ListLocksRequest request;
             request.set_prefix(lock);
             return request;
           })},
      {"WatchLocks of a name", Verb::kInspect,
       [](const std::shared_ptr<grpc::Channel>& channel, const std::string& lock) {
         admin::v1::WatchLocksRequest request;
         request.set_name(lock);
         return CallWatchLocks(channel, request);
       }},
      {"WatchLocks of a prefix", Verb::kList,
       [](const std::shared_ptr<grpc::Channel>& channel, const std::string& lock) {
         admin::v1::WatchLocksRequest request;
         request.set_prefix(lock);
         return CallWatchLocks(channel, request);
       }},
      {"ListContendedLocks", Verb::kList,
       Unary<Admin, admin::v1::ListContendedLocksRequest, admin::v1::ListContendedLocksResponse>(
           &Admin::Stub::ListContendedLocks,
           [](const std::string& lock) {
             admin::v1::ListContendedLocksRequest request;
             request.set_prefix(lock);
             return request;
           })},
      {"ForceRelease", Verb::kForceRelease,
       Unary<Admin, admin::v1::ForceReleaseRequest, admin::v1::ForceReleaseResponse>(
           &Admin::Stub::ForceRelease,
           [](const std::string& lock) {
             admin::v1::ForceReleaseRequest request;
             request.set_name(lock);
             request.set_reason("test");
             return request;
           })},
      {"EndQuarantine", Verb::kEndQuarantine,
       Unary<Admin, admin::v1::EndQuarantineRequest, admin::v1::EndQuarantineResponse>(
           &Admin::Stub::EndQuarantine,
           [](const std::string&) {
             admin::v1::EndQuarantineRequest request;
             request.set_epoch(1);
             request.set_accept_two_holders(true);
             request.set_reason("test");
             return request;
           })},
      {"Drain", Verb::kDrain,
       Unary<Admin, admin::v1::DrainRequest, admin::v1::DrainResponse>(
           &Admin::Stub::Drain,
           [](const std::string&) {
             admin::v1::DrainRequest request;
             request.set_reason("test");
             return request;
           })},
      {"GetServerInfo", Verb::kAdmin,
       Unary<Admin, admin::v1::GetServerInfoRequest, admin::v1::GetServerInfoResponse>(
           &Admin::Stub::GetServerInfo,
           [](const std::string&) { return admin::v1::GetServerInfoRequest(); })},
  };
}

std::vector<Way> WaysOfSessions() {
  return {
      {"session acquire", Verb::kAcquire, InSession([](const std::string& lock) {
         return BatchOf(support::AcquireOperation(1, lock, kLeaseId));
       })},
      {"session extend", Verb::kExtend, InSession([](const std::string& lock) {
         return BatchOf(support::ExtendOperation(1, lock, kLeaseId));
       })},
      {"session release", Verb::kRelease, InSession([](const std::string& lock) {
         return BatchOf(support::ReleaseOperation(1, lock, kLeaseId));
       })},
      {"session fence", Verb::kFence, InSession([](const std::string& lock) {
         v1::SessionOperation operation;
         operation.set_id(1);
         *operation.mutable_fence() = support::FenceOf(lock, 1);
         return BatchOf(operation);
       })},
      {"session adopt", Verb::kExtend, InSession([](const std::string& lock) {
         v1::SessionRequest message;
         message.mutable_adopt()->set_name(lock);
         message.mutable_adopt()->set_lease_id(kLeaseId);
         message.mutable_adopt()->set_fencing_token(1);
         return message;
       })},
      // It reaches the leases of its own session only: ForgetOfAnotherSessionLeavesALeaseAlone.
      {"session forget", std::nullopt, InSession([](const std::string& lock) {
         v1::SessionRequest message;
         message.mutable_forget()->set_name(lock);
         message.mutable_forget()->set_lease_id(kLeaseId);
         return message;
       }),
       true},
  };
}

// All that ask who calls.
std::vector<Way> Ways() {
  std::vector<Way> ways = WaysOfLockService();
  for (const auto& more : {WaysOfAdminService(), WaysOfSessions()}) {
    ways.insert(ways.end(), more.begin(), more.end());
  }
  return ways;
}

// What a caller shows is good, proves nothing, or the handshake fails by it.
enum class Caller { kIdentified, kRejected, kUnreached };

struct Kind {
  const char* name;
  std::shared_ptr<grpc::Channel> channel;
  Caller caller = Caller::kIdentified;
  std::set<Verb> allowed;  // On kOwn.
};

std::string Expected(const Kind& kind, const Way& way, const std::string& lock) {
  if (kind.caller == Caller::kUnreached) return "unreached";
  if (kind.caller == Caller::kRejected) return "UNAUTHENTICATED";
  if (way.needs_a_session && kind.allowed.empty()) return "PERMISSION_DENIED";
  if (!way.verb) return "allowed";
  const bool allowed =
      kind.allowed.contains(*way.verb) && (lock == kOwn || !access::IsAboutLock(*way.verb));
  return allowed ? "allowed" : "PERMISSION_DENIED";
}

class AccessTableTest : public AccessTest {
 protected:
  AccessTableTest() { reflection_ = true; }

  // "allowed", whatever the answer is, unless it is one of the gate's or of the transport's.
  static std::string Verdict(const std::string& reason) {
    if (reason == "no details") return "unreached";
    const bool is_of_gate =
        reason == "UNAUTHENTICATED" || reason == "PERMISSION_DENIED" || reason == "INVALID_FIELD";
    return is_of_gate ? reason : "allowed";
  }

  static void Check(const std::vector<Kind>& kinds) {
    for (const Kind& kind : kinds) {
      for (const Way& way : Ways()) {
        for (const std::string lock : {kOwn, kOther}) {
          EXPECT_EQ(Verdict(way.call(kind.channel, lock)), Expected(kind, way, lock))
              << way.name << " of " << lock << " by " << kind.name;
        }
      }
      // Without a credential, and with a wrong one.
      const bool is_reached = kind.caller != Caller::kUnreached;
      EXPECT_EQ(support::CheckHealth(kind.channel, "") != support::Serving::kNoAnswer, is_reached)
          << kind.name;
      EXPECT_EQ(HasReflection(kind.channel), is_reached) << kind.name;
    }
  }

 private:
  static bool HasReflection(const std::shared_ptr<grpc::Channel>& channel) {
    try {
      return !support::ListServices(channel).empty();
    } catch (const std::runtime_error&) {
      return false;
    }
  }
};

TEST_F(AccessTableTest, EachTokenReachesWhatThePolicyAllowsAndNothingElse) {
  const std::string address = Serve(kPolicy);
  const auto with = [&](const std::string& authorization) {
    return support::NewBearerChannel(address, authorization);
  };
  const std::string good = Jwt(key_);
  Check({
      {"nothing", with(""), Caller::kIdentified, {Verb::kFence}},
      {"token", with("Bearer w"), Caller::kIdentified, kWorker},
      {"token of an operator", with("Bearer o"), Caller::kIdentified, kOperator},
      {"token without a role", with("Bearer n"), Caller::kIdentified, kNothing},
      {"JWT", with(good), Caller::kIdentified, kWorkerAndReader},
      {"unknown token", with("Bearer x"), Caller::kRejected, kNothing},
      {"expired token", with("Bearer old"), Caller::kRejected, kNothing},
      {"expired JWT", with(Jwt(key_, 900)), Caller::kRejected, kNothing},
      {"JWT of somebody else", with(Jwt(foreign_)), Caller::kRejected, kNothing},
      {"changed JWT", with(good.substr(0, good.size() - 4) + "AAAA"), Caller::kRejected, kNothing},
      {"token without a scheme", with("w"), Caller::kRejected, kNothing},
      {"password", with("Basic dzp3"), Caller::kRejected, kNothing},
  });
}

constexpr char kCertificates[] = R"(
certificates:
  - {from: spiffe, match: "spiffe://example.org/jobs/*", principal: "job:*"}
  - {from: spiffe, match: "spiffe://example.org/worker", principal: worker}
  - {from: dns, match: "*.ops.example.org", principal: operator}
  - {from: cn, match: reader, principal: "cn:reader"}
)";
constexpr char kBindings[] = R"(  - {roles: worker, principals: "job:*", proofs: certificate}
  - {roles: reader, principals: "cn:reader"}
)";

TEST_F(AccessTableTest, EachCertificateReachesWhatThePolicyAllowsAndNothingElse) {
  TestAuthority authority;
  TestAuthority other_authority;
  const TlsFiles own = authority.IssueForLocalhost();
  const auto identity = tls::ServerIdentity::Load({.authorities = {"ca", authority.ca_file()},
                                                   .certificate = {"certificate", own.certificate},
                                                   .key = {"key", own.key}});
  ASSERT_TRUE(identity.ok()) << identity.status();
  const std::string address =
      ServeAt({.host = "127.0.0.1", .security = config::Security::kMutualTls},
              kCertificates + std::string(kPolicy) + kBindings, {.identity = *identity});
  const auto by = [&](TestAuthority& issuer, const CertificateWish& wish,
                      const std::string& token = "", const std::string& server_name = "") {
    const TlsFiles files = issuer.Issue(wish);
    return SecureChannel(address, {authority.ca_file(), files.certificate, files.key, server_name},
                         token);
  };
  const auto jwt = [this](const support::KeyPair& key, int64_t expires = 2'000) {
    return Jwt(key, expires).substr(std::string("Bearer ").size());
  };
  const CertificateWish job{.common_name = "x", .uri = "spiffe://example.org/jobs/7"};
  CertificateWish expired = job;
  expired.valid_from = hours(-48);
  expired.valid_until = hours(-24);
  CertificateWish early = job;
  early.valid_from = hours(24);
  early.valid_until = hours(48);
  CertificateWish of_server = job;
  of_server.extended_key_usage = "serverAuth";

  Check({
      {"SPIFFE id", by(authority, job), Caller::kIdentified, kWorker},
      {"DNS name", by(authority, {.common_name = "x", .names = {"a.ops.example.org"}}),
       Caller::kIdentified, kOperator},
      {"CN", by(authority, {.common_name = "reader"}), Caller::kIdentified, kReader},
      {"SPIFFE id of a principal that only a token gives rights",
       by(authority, {.common_name = "x", .uri = "spiffe://example.org/worker"}),
       Caller::kIdentified, kNothing},
      {"token over a certificate", by(authority, job, "o"), Caller::kIdentified, kOperator},
      {"unknown token over a certificate", by(authority, job, "x"), Caller::kRejected, kNothing},
      {"expired token over a certificate", by(authority, job, "old"), Caller::kRejected, kNothing},
      {"JWT over a certificate", by(authority, job, jwt(key_)), Caller::kIdentified,
       kWorkerAndReader},
      {"expired JWT over a certificate", by(authority, job, jwt(key_, 900)), Caller::kRejected,
       kNothing},
      {"JWT of somebody else over a certificate", by(authority, job, jwt(foreign_)),
       Caller::kRejected, kNothing},
      {"wrong name", by(authority, {.common_name = "stranger"}), Caller::kRejected, kNothing},
      {"wrong SPIFFE id", by(authority, {.common_name = "x", .uri = "spiffe://other.org/jobs/7"}),
       Caller::kRejected, kNothing},
      {"no certificate", SecureChannel(address, {.ca = authority.ca_file()}), Caller::kUnreached,
       kNothing},
      {"token without a certificate", SecureChannel(address, {.ca = authority.ca_file()}, "o"),
       Caller::kUnreached, kNothing},
      {"server that has another name", by(authority, job, "", "other.example.org"),
       Caller::kUnreached, kNothing},
      {"server by one of its names", by(authority, job, "", "localhost"), Caller::kIdentified,
       kWorker},
      {"certificate of another CA", by(other_authority, job), Caller::kUnreached, kNothing},
      {"expired certificate", by(authority, expired), Caller::kUnreached, kNothing},
      {"certificate of tomorrow", by(authority, early), Caller::kUnreached, kNothing},
      {"certificate for servers", by(authority, of_server), Caller::kUnreached, kNothing},
      {"no TLS", support::NewBearerChannel(address.substr(address.rfind('/') + 1), "Bearer o"),
       Caller::kUnreached, kNothing},
  });
}

TEST_F(AccessTableTest, EveryVerbOfThePolicyHasAWay) {
  std::set<Verb> verbs;
  for (const Way& way : Ways()) {
    if (way.verb) verbs.insert(*way.verb);
  }
  EXPECT_EQ(verbs.size(), access::kVerbs);
}

// So that what is added to the protos is asked for here, too.
TEST_F(AccessTableTest, EveryRpcAndEveryOperationOfASessionIsAWay) {
  using google::protobuf::DescriptorPool;
  std::set<std::string> ways;
  for (const Way& way : Ways()) {
    const std::vector<std::string> words = absl::StrSplit(way.name, ' ');
    ways.insert(words[0] == "session" ? "session " + words[1] : words[0]);
  }
  // What carries the ways, or reaches nothing but the own session.
  std::set<std::string> all = {"Session",        "session open",      "session batch",
                               "session cancel", "session heartbeat", "session close"};
  const DescriptorPool& pool = *DescriptorPool::generated_pool();
  for (const char* const service :
       {"lockkeeper.v1.LockService", "lockkeeper.admin.v1.AdminService"}) {
    const auto* const rpcs = pool.FindServiceByName(service);
    for (int i = 0; i < rpcs->method_count(); ++i) {
      const std::string name(rpcs->method(i)->name());
      EXPECT_EQ(ways.contains(name), !all.contains(name)) << name;
      all.insert(name);
    }
  }
  for (const auto* const message :
       {v1::SessionRequest::descriptor(), v1::SessionOperation::descriptor()}) {
    const auto* const said = message->oneof_decl(0);
    for (int i = 0; i < said->field_count(); ++i) {
      const std::string name = "session " + std::string(said->field(i)->name());
      EXPECT_EQ(ways.contains(name), !all.contains(name)) << name;
      all.insert(name);
    }
  }
  EXPECT_THAT(ways, testing::IsSubsetOf(all));
}

}  // namespace
}  // namespace lockkeeper::rpc
