// SPDX-License-Identifier: Apache-2.0
// What callers may do at a real server, and what changes while sessions and calls are open.
// access_table_test.cc has each kind of caller and each rpc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "access/access_files.h"
#include "grpcpp/security/auth_context.h"
#include "os/file_watch.h"
#include "rpc/credentials.h"
#include "rpc/fair_share.h"
#include "support/mailbox.h"
#include "support/process/mounted_files.h"
#include "support/rpc/bearer_channel.h"
#include "support/rpc/deadline.h"
#include "support/rpc/error_reason.h"
#include "support/rpc/lock_client.h"
#include "support/rpc/lock_requests.h"
#include "support/rpc/reflection_client.h"
#include "support/rpc/session_caller.h"
#include "unit/rpc/access_fixture.h"

namespace lockkeeper::rpc {
namespace {

using std::chrono::seconds;
using support::SessionCaller;
using testing::ElementsAre;

TEST_F(AccessTest, RefusalNamesVerbLockAndPrincipal) {
  const auto channel = support::NewBearerChannel(Serve(kPolicy), "Bearer w");
  support::LockClient client(channel);
  EXPECT_EQ(client.GetLock("own/x").status.error_message(),
            "principal \"worker\" (token) does not have the right inspect on the lock \"own/x\"");
  EXPECT_EQ(client.GetServerInfo().status.error_message(),
            "principal \"worker\" (token) does not have the right admin");
}

TEST_F(AccessTest, ReflectionCanBeOff) {
  const std::string address = Serve(kPolicy);
  EXPECT_THROW(support::ListServices(support::NewBearerChannel(address, "")), std::runtime_error);
  EXPECT_THROW(support::ListServices(support::NewBearerChannel(address, "Bearer o")),
               std::runtime_error);
}

TEST_F(AccessTest, ListShowsWhatMayBeListedAndInspectedAndNothingElse) {
  const auto channel =
      support::NewBearerChannel(Serve("roles: {r: {rules: [{verbs: list, prefixes: [a/, b/]}, "
                                      "{verbs: inspect, prefixes: [b/, c/]}]}}\n"
                                      "bindings: [{roles: r, principals: '*'}]\n"),
                                "");
  server_.store().on_list = [this](const core::ListRequest&, auto done) {
    core::LockPage page;
    for (const char* name : {"a/1", "b/1", "c/1", "b", "d"}) {
      page.locks.emplace_back().name = name;
    }
    page.unreadable = 3;
    page.next_page_token = "7";
    server_.store().AnswerLater<core::LockPage>(std::move(done), std::move(page));
  };
  support::LockClient client(channel);
  const auto all = client.ListLocks();
  ASSERT_TRUE(all.ok()) << all.status.error_message();
  ASSERT_EQ(all.response.locks_size(), 1);
  EXPECT_EQ(all.response.locks(0).name(), "b/1");
  EXPECT_EQ(all.response.unreadable(), 0);
  EXPECT_EQ(all.response.next_page_token(), "7");

  admin::v1::ListLocksRequest request;
  request.set_prefix("b/");
  EXPECT_EQ(client.ListLocks(request).response.unreadable(), 3) << "all below b/ may be seen";
  request.set_prefix("c/");
  EXPECT_EQ(client.ListLocks(request).reason, "PERMISSION_DENIED");
}

TEST_F(AccessTest, ContendedLocksAreShownThatMayBeListedAndInspected) {
  const auto channel =
      support::NewBearerChannel(Serve("roles: {r: {rules: [{verbs: list, prefixes: [a/, b/]}, "
                                      "{verbs: inspect, prefixes: [b/, c/]}]}}\n"
                                      "bindings: [{roles: r, principals: '*'}]\n"),
                                "");
  server_.loop().RunAndWait([this] {
    for (const char* name : {"a/1", "b/1", "c/1", "b", "d"}) {
      server_.contended().OnWaitEnded(name, {}, core::WaitEnd::kGranted, core::Millis(1));
    }
  });
  const auto stub = admin::v1::AdminService::NewStub(channel);
  grpc::ClientContext context;
  admin::v1::ListContendedLocksResponse response;

  ASSERT_TRUE(stub->ListContendedLocks(&context, {}, &response).ok());

  ASSERT_EQ(response.locks_size(), 1);
  EXPECT_EQ(response.locks(0).name(), "b/1");
}

TEST_F(AccessTest, LeasesBelongToThePrincipal) {
  support::Mailbox<std::string> principals;
  server_.store().on_acquire = [&](const core::AcquireRequest& request, auto done) {
    principals.Put(request.principal);
    server_.store().AnswerLater<core::AcquireOutcome>(std::move(done),
                                                      core::AcquireOutcome(core::Contention{}));
  };
  const std::string address = Serve("");
  for (const std::string authorization : {"", "Bearer w", "Bearer o"}) {
    support::LockClient client(support::NewBearerChannel(address, authorization));
    ASSERT_TRUE(client.Acquire(support::AcquireOf("n", kLeaseId)).ok());
  }
  SessionCaller session(support::NewBearerChannel(address, "Bearer n"));
  session.Open();
  session.Send({support::AcquireOperation(1, "n", kLeaseId)});
  ASSERT_TRUE(session.ReadResult());
  for (const char* expected : {"", "worker", "operator", "nobody"}) {
    EXPECT_EQ(principals.Take(), expected);
  }
}

// What the store answers where a request is granted or extended.
constexpr core::Millis kLong{60'000};
template <typename Request>
core::Lease LeaseOf(const Request& request, core::Millis ttl, core::Millis remaining) {
  core::Lease lease;
  lease.name = request.name;
  lease.lease_id = request.lease_id;
  lease.token = core::FencingToken{42};
  lease.ttl = ttl;
  lease.remaining_ttl = remaining;
  return lease;
}

// --- what changes -------------------------------------------------------------------------------

class ChangeTest : public AccessTest {
 protected:
  ChangeTest() {
    server_.store().on_fence = [this](const core::FenceRequest&, auto done) {
      server_.store().AnswerLater<core::FenceAnswer>(std::move(done), core::FenceAnswer{});
    };
  }

  static std::string FenceIn(SessionCaller& session) {
    v1::SessionOperation operation;
    operation.set_id(1);
    *operation.mutable_fence() = support::FenceOf(kOwn, 1);
    session.Send({operation});
    const auto result = session.ReadResult();
    return result ? NameOf(result->error()) : "the session has ended";
  }
};

TEST_F(ChangeTest, SessionIsJudgedByTheRulesOfTheMoment) {
  const std::string address = Serve(kPolicy);
  SessionCaller session(support::NewBearerChannel(address, "Bearer w"));
  session.Open();
  EXPECT_EQ(FenceIn(session), "");
  access_.Replace(Rules("roles: {none: {rules: []}}"));
  EXPECT_EQ(FenceIn(session), "PERMISSION_DENIED");
  access_.Replace(Rules(kPolicy));
  EXPECT_EQ(FenceIn(session), "");
}

TEST_F(ChangeTest, SessionWhoseTokenExpiresEndsNothingAndAdmitsNothing) {
  const std::string address = Serve(kPolicy);
  SessionCaller session(support::NewBearerChannel(address, Jwt(key_, 2'000)));
  session.Open();
  EXPECT_EQ(FenceIn(session), "");
  now_ = 2'029;  // Within the leeway of 30 s.
  EXPECT_EQ(FenceIn(session), "");
  now_ = 2'030;
  EXPECT_EQ(FenceIn(session), "UNAUTHENTICATED");
  session.Heartbeat(7);
  const auto beat = session.Read();
  ASSERT_TRUE(beat) << "the session goes on";
  EXPECT_EQ(beat->heartbeat_result().number(), 7U);
}

TEST_F(ChangeTest, SessionWhoseTokenIsRemovedOrRenamedIsRejected) {
  const std::string address = Serve(kPolicy);
  const std::string before = tokens_;
  SessionCaller session(support::NewBearerChannel(address, "Bearer w"));
  session.Open();
  EXPECT_EQ(FenceIn(session), "");
  tokens_ = "tokens:\n" + Token("operator", "o");
  access_.Replace(Rules(kPolicy));
  EXPECT_EQ(FenceIn(session), "UNAUTHENTICATED");
  tokens_ = "tokens:\n" + Token("boss", "w");
  access_.Replace(Rules(kPolicy));
  EXPECT_EQ(FenceIn(session), "UNAUTHENTICATED") << "it was opened by worker";
  tokens_ = before;
  access_.Replace(Rules(kPolicy));
  EXPECT_EQ(FenceIn(session), "");
}

TEST_F(ChangeTest, SessionWhoseKeyIsRemovedIsRejected) {
  const std::string address = Serve(kPolicy);
  SessionCaller session(support::NewBearerChannel(address, Jwt(key_)));
  session.Open();
  EXPECT_EQ(FenceIn(session), "");
  const std::string before = issuer_keys_;
  const support::KeyPair other(access::Signature::kEdDsa);
  issuer_keys_ = support::KeySetOf({other.Jwk("k")});
  access_.Replace(Rules(kPolicy));
  EXPECT_EQ(FenceIn(session), "UNAUTHENTICATED");
  issuer_keys_ = before;
  access_.Replace(Rules(kPolicy));
  EXPECT_EQ(FenceIn(session), "");
}

TEST_F(ChangeTest, HeartbeatsKeepTheLeaseOfWhoMayNothingAnyMore) {
  server_.store().on_acquire = [&](const core::AcquireRequest& request, auto done) {
    server_.store().AnswerLater<core::AcquireOutcome>(
        std::move(done), core::AcquireOutcome(LeaseOf(request, kLong, core::Millis(10'000))));
  };
  support::Mailbox<std::string> extended;
  server_.store().on_extend = [&](const core::ExtendRequest& request, auto done) {
    extended.Put(request.name);
    server_.store().AnswerLater<core::Lease>(std::move(done), LeaseOf(request, kLong, kLong));
  };
  const std::string address = Serve(kPolicy);
  const std::string before = tokens_;
  const auto take_the_role = [&] { access_.Replace(Rules("roles: {none: {rules: []}}")); };
  const auto take_the_token = [&] {
    tokens_ = "tokens:\n" + Token("operator", "o");
    access_.Replace(Rules(kPolicy));
  };
  for (const std::function<void()>& take : {std::function(take_the_role), {take_the_token}}) {
    SessionCaller session(support::NewBearerChannel(address, "Bearer w"));
    session.Open();
    session.Send({support::AcquireOperation(1, kOwn, kLeaseId)});
    ASSERT_TRUE(session.ReadResult()->acquire().has_lease());
    take();
    EXPECT_NE(FenceIn(session), "");

    session.Heartbeat(7);
    EXPECT_EQ(extended.Take(), kOwn);
    const auto beat = session.Read();
    ASSERT_TRUE(beat);
    EXPECT_EQ(beat->heartbeat_result().not_extended_size(), 0);
    tokens_ = before;
    access_.Replace(Rules(kPolicy));
  }
}

TEST_F(ChangeTest, CallThatWaitsKeepsTheRightsItCameWith) {
  support::Mailbox<core::Done<core::AcquireOutcome>> held;
  server_.store().on_acquire = [&](const core::AcquireRequest&, auto done) {
    held.Put(std::move(done));
  };
  const std::string address = Serve(kPolicy);
  support::LockClient client(support::NewBearerChannel(address, "Bearer w"));
  std::thread answerer([&] {
    auto done = *held.Take();
    access_.Replace(Rules("roles: {none: {rules: []}}"));
    server_.loop().RunAndWait([&] { std::move(done)(core::AcquireOutcome(core::Contention{})); });
  });
  EXPECT_TRUE(client.Acquire(support::AcquireOf(kOwn, kLeaseId)).ok());
  answerer.join();
  EXPECT_EQ(client.Acquire(support::AcquireOf(kOwn, kLeaseId)).reason, "PERMISSION_DENIED");
}

// In each rulebook the caller has another name, which only that rulebook allows to fence. Who took
// the name from one and the rights from the other would be rejected.
TEST_F(ChangeTest, NoOperationIsJudgedByTwoRulebooks) {
  const auto rules_of = [&](const std::string& name) {
    tokens_ = "tokens:\n" + Token(name, "w");
    return Rules(
        "roles: {r: {rules: [{verbs: fence, prefixes: [own/]}]}}\n"
        "bindings: [{roles: r, principals: " +
        name + "}]\n");
  };
  const std::string address = Serve("");
  const auto one = rules_of("one");
  const auto two = rules_of("two");
  access_.Replace(one);
  std::atomic<bool> done = false;
  std::atomic<int> asked = 0;
  std::vector<std::thread> callers;
  callers.reserve(3);
  for (int i = 0; i < 3; ++i) {
    callers.emplace_back([&] {
      support::LockClient client(support::NewBearerChannel(address, "Bearer w"));
      while (!done) {
        EXPECT_TRUE(client.Fence(support::FenceOf(kOwn, 1)).ok());
        ++asked;
      }
    });
  }
  for (int i = 0; i < 100; ++i) {
    const int before = asked;
    access_.Replace(i % 2 == 0 ? two : one);
    while (asked < before + 3) std::this_thread::yield();
  }
  done = true;
  for (std::thread& caller : callers) caller.join();
  EXPECT_GE(asked, 300);
}

// The same through the files: each version names the caller otherwise, in the file of tokens and in
// the mapping of the JWTs, and allows that name only. Its key set adds a key that the others do not
// have. A mixture of two versions would reject somebody.
TEST_F(ChangeTest, HundredVersionsOfTheFilesFailNoRequestUnderLoad) {
  const support::KeyPair other(access::Signature::kEdDsa);
  const auto texts_of = [&](int version) -> support::MountedFiles::Texts {
    const std::string name = "v" + std::to_string(version);
    return {{"policy.yaml",
             "jwt: [{issuer: 'https://issuer', audience: lockkeeper, jwks_file: keys.json, "
             "principal: '" +
                 name +
                 "/*'}]\n"
                 "roles: {r: {rules: [{verbs: fence, prefixes: [own/]}]}}\n"
                 "bindings: [{roles: r, principals: [" +
                 name + ", '" + name + "/*']}]\n"},
            {"tokens.yaml", "tokens:\n" + Token(name, "w")},
            {"keys.json", support::KeySetOf({key_.Jwk("k"), other.Jwk(name)})}};
  };
  support::MountedFiles mounted(texts_of(0));
  const access::AccessFiles files{.policy = mounted.Path("policy.yaml"),
                                  .tokens = mounted.Path("tokens.yaml")};
  access::AccessFilesReader reader(files);
  os::Contents contents;
  ASSERT_EQ(reader.Read(contents), std::nullopt);
  const auto take = [&](const os::Contents& read) -> text::Problem {
    access::LoadedRulebook made = access::MakeRulebook(files, read, Now());
    if (made.rulebook == nullptr) return made.problems.front();
    access_.Replace(std::move(made.rulebook));
    return std::nullopt;
  };
  const std::string address = Serve("");
  ASSERT_EQ(take(contents), std::nullopt);
  std::atomic<int> changes = 0;
  std::atomic<int> problems = 0;
  std::vector<os::WatchedFiles> sets;
  sets.emplace_back([&](os::Contents& read) { return reader.Read(read); }, contents, take,
                    [&](const text::Problem& problem) {
                      ++(problem ? problems : changes);
                      changes.notify_one();
                    });
  const os::FileWatch watch(std::move(sets), std::chrono::milliseconds(1));

  std::atomic<bool> done = false;
  std::atomic<int> asked = 0;
  std::vector<std::thread> callers;
  for (const std::string& authorization : {std::string("Bearer w"), Jwt(key_), Jwt(key_)}) {
    callers.emplace_back([&, authorization] {
      support::LockClient client(support::NewBearerChannel(address, authorization));
      while (!done) {
        EXPECT_EQ(client.Fence(support::FenceOf(kOwn, 1)).reason, "");
        ++asked;
      }
    });
  }
  for (int version = 1; version <= 100; ++version) {
    const int before = changes;
    mounted.Publish(texts_of(version));
    changes.wait(before);
  }
  done = true;
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(changes, 100);
  EXPECT_EQ(problems, 0);
  EXPECT_GT(asked, 100) << "there was load";
}

TEST_F(ChangeTest, CheckAccessTellsWhatTheDaemonThinks) {
  const std::string address = Serve(kPolicy);
  const auto ask = [&](const std::string& authorization, const std::string& verb,
                       const std::string& name) {
    const auto stub = v1::LockService::NewStub(support::NewBearerChannel(address, authorization));
    grpc::ClientContext context;
    support::SetDeadline(context, seconds(20));
    v1::CheckAccessRequest request;
    request.set_verb(verb);
    request.set_name(name);
    v1::CheckAccessResponse response;
    const grpc::Status status = stub->CheckAccess(&context, request, &response);
    if (!status.ok()) return support::ReasonOf(status) + " " + support::FieldOf(status);
    return response.principal() + " " + response.proof() + " " + response.issuer() + " " +
           std::to_string(response.roles_size()) + (response.allowed() ? " yes" : " no");
  };
  EXPECT_EQ(ask("", "", ""), "anonymous anonymous  1 no");
  EXPECT_EQ(ask("Bearer n", "acquire", kOwn), "nobody token  0 no");
  EXPECT_EQ(ask("Bearer w", "acquire", kOwn), "worker token  1 yes");
  EXPECT_EQ(ask("Bearer w", "acquire", kOther), "worker token  1 no");
  EXPECT_EQ(ask(Jwt(key_), "list", "own/"), "jwt:ann jwt https://issuer 2 yes");
  EXPECT_EQ(ask(Jwt(key_), "list", ""), "jwt:ann jwt https://issuer 2 yes");
  EXPECT_EQ(ask("Bearer o", "admin", ""), "operator token  2 yes");
  EXPECT_EQ(ask("Bearer x", "", ""), "UNAUTHENTICATED ");
  EXPECT_EQ(ask("", "aquire", "n"), "INVALID_FIELD verb");
  EXPECT_EQ(ask("", "acquire", ""), "INVALID_FIELD name");
}

// --- quotas -------------------------------------------------------------------------------------

class QuotaTest : public AccessTest {
 protected:
  QuotaTest() {
    server_.store().on_acquire = [this](const core::AcquireRequest& request, auto done) {
      acquired_.Put(request);
      server_.store().AnswerLater<core::AcquireOutcome>(
          std::move(done), core::AcquireOutcome(LeaseOf(request, request.ttl, request.ttl)));
    };
    server_.store().on_release = [this](const core::ReleaseRequest&, auto done) {
      server_.store().AnswerLater<core::ReleaseAnswer>(std::move(done), core::ReleaseAnswer{});
    };
  }

  // A client at a server whose policy gives everybody these quotas.
  support::LockClient Client(const std::string& quotas) {
    channel_ = support::NewBearerChannel(Serve("quotas: {" + quotas + "}\n"), "Bearer w");
    return support::LockClient(channel_);
  }
  void ExtendsLeases() {
    server_.store().on_extend = [this](const core::ExtendRequest& request, auto done) {
      server_.store().AnswerLater<core::Lease>(std::move(done), LeaseOf(request, kLong, kLong));
    };
  }
  static void Adopt(SessionCaller& session, const std::string& lease_id) {
    v1::SessionRequest request;
    request.mutable_adopt()->set_name(kOwn);
    request.mutable_adopt()->set_lease_id(lease_id);
    request.mutable_adopt()->set_fencing_token(42);
    session.Send(request);
    ASSERT_TRUE(session.Read()->adopt_result().has_lease());
  }
  static v1::AcquireRequest Acquire(char id) {
    return support::AcquireOf(kOwn, std::string(core::HexId::kLength, id));
  }

  support::Mailbox<core::AcquireRequest> acquired_;
  std::shared_ptr<grpc::Channel> channel_;
};

// A store that answers nothing has as much as it can use of one principal; what comes next is of
// each in turn.
TEST_F(AccessTest, PrincipalsTakeTurnsAtABusyStore) {
  struct Asked {
    std::string name;
    core::Done<core::FenceAnswer> done;
  };
  support::Mailbox<Asked> asked;
  server_.store().on_fence = [&](const core::FenceRequest& request, auto done) {
    asked.Put({request.name, std::move(done)});
  };
  const std::string address = Serve("");
  const auto fence = [](SessionCaller& session, const std::string& name, int count) {
    std::vector<v1::SessionOperation> operations;
    for (int id = 1; id <= count; ++id) {
      *operations.emplace_back().mutable_fence() = support::FenceOf(name, 1);
      operations.back().set_id(static_cast<uint64_t>(id));
    }
    session.Send(operations);
    session.Heartbeat(1);  // It is answered behind them.
    while (const auto answer = session.Read()) {
      if (answer->has_heartbeat_result()) return;
    }
    ADD_FAILURE() << "the session has ended";
  };
  SessionCaller worker(support::NewBearerChannel(address, "Bearer w"));
  worker.Open();
  fence(worker, "worker", static_cast<int>(kOperationsUnderWayMax) + 100);
  std::vector<core::Done<core::FenceAnswer>> held;
  held.reserve(kOperationsUnderWayMax);
  for (size_t i = 0; i < kOperationsUnderWayMax; ++i) held.push_back(std::move(asked.Take()->done));
  SessionCaller other(support::NewBearerChannel(address, "Bearer o"));
  other.Open();
  fence(other, "other", 1);
  EXPECT_TRUE(asked.Empty());

  const auto answer = [&](core::Done<core::FenceAnswer> done) {
    server_.loop().RunAndWait([&] { std::move(done)(core::FenceAnswer{}); });
  };
  std::set<std::string> next;
  for (int i = 0; i < 2; ++i) {
    answer(std::move(held.back()));
    held.pop_back();
    Asked one = *asked.Take();
    next.insert(one.name);
    held.push_back(std::move(one.done));
  }
  EXPECT_THAT(next, ElementsAre("other", "worker"));
  for (auto& done : held) answer(std::move(done));
  for (int i = 0; i < 99; ++i) answer(std::move(asked.Take()->done));
}

TEST_F(QuotaTest, LongestTimesAreThoseOfThePolicy) {
  support::LockClient client =
      Client("max_ttl: 10s, max_wait: 5s, max_hold: 1m, max_lock_delay: 2s, max_hold_at_least: 1h");
  v1::AcquireRequest request = Acquire('a');
  request.clear_ttl();
  ASSERT_TRUE(client.Acquire(request).ok());
  const core::AcquireRequest taken = *acquired_.Take();
  EXPECT_EQ(taken.ttl, seconds(10)) << "the default is shortened";
  EXPECT_EQ(taken.max_hold, seconds(60)) << "nobody holds without a bound";

  request.mutable_ttl()->set_seconds(11);
  const auto ttl = client.Acquire(request);
  EXPECT_EQ(ttl.field, "ttl");
  EXPECT_EQ(ttl.status.error_message(),
            "ttl: has to be at most 10s: the quota max_ttl of principal \"worker\" (token)");
  request.mutable_ttl()->set_seconds(10);
  request.mutable_wait_timeout()->set_seconds(6);
  EXPECT_EQ(client.Acquire(request).field, "wait_timeout");
  request.clear_wait_timeout();
  request.mutable_max_hold()->set_seconds(61);
  EXPECT_EQ(client.Acquire(request).field, "max_hold");
  request.clear_max_hold();
  request.mutable_lock_delay()->set_seconds(3);
  EXPECT_EQ(client.Acquire(request).field, "lock_delay");
  request.clear_lock_delay();
  request.mutable_hold_at_least()->set_seconds(3'601);
  EXPECT_EQ(client.Acquire(request).field, "hold_at_least");
  v1::ExtendRequest extend = support::ExtendOf(kOwn, kLeaseId);
  extend.mutable_ttl()->set_seconds(11);
  EXPECT_EQ(client.Extend(extend).field, "ttl");
}

TEST_F(QuotaTest, LeasesAreCountedUntilTheyAreReleased) {
  support::LockClient client = Client("leases: 2");
  ASSERT_TRUE(client.Acquire(Acquire('a')).ok());
  ASSERT_TRUE(client.Acquire(Acquire('b')).ok());
  const auto third = client.Acquire(Acquire('c'));
  EXPECT_EQ(third.reason, "LEASE_LIMIT");
  EXPECT_EQ(third.status.error_message(),
            "principal \"worker\" (token) may have 2 at this daemon: the quota leases");
  EXPECT_THAT(server_.metrics().Expose(),
              testing::HasSubstr("lockkeeper_quota_refused_total{quota=\"leases\"} 1\n"));
  EXPECT_TRUE(client.Acquire(Acquire('a')).ok()) << "a repeat";
  support::LockClient other(
      support::NewBearerChannel(own_server_->addresses().front().ToString(), "Bearer o"));
  EXPECT_TRUE(other.Acquire(Acquire('d')).ok()) << "another principal";
  ASSERT_TRUE(client.Release(support::ReleaseOf(kOwn, std::string(32, 'b'))).ok());
  EXPECT_TRUE(client.Acquire(Acquire('c')).ok());
}

TEST_F(QuotaTest, LeasesOfSessionsCountToo) {
  support::LockClient client = Client("leases: 1");
  {
    SessionCaller session(channel_);
    session.Open();
    session.Send({support::AcquireOperation(1, kOwn, kLeaseId)});
    EXPECT_TRUE(session.ReadResult()->acquire().has_lease());
    EXPECT_EQ(client.Acquire(Acquire('b')).reason, "LEASE_LIMIT");
    session.Send({support::AcquireOperation(2, kOther, kLeaseId)});
    EXPECT_EQ(NameOf(session.ReadResult()->error()), "LEASE_LIMIT");
    session.Send({support::ReleaseOperation(3, kOwn, kLeaseId)});
    ASSERT_TRUE(session.ReadResult());
  }
  EXPECT_TRUE(client.Acquire(Acquire('b')).ok());
}

// `lockkeeper acquire` forgets its lease; a session that breaks leaves all.
TEST_F(QuotaTest, LeasesThatASessionLeavesCountUntilTheyEnd) {
  support::LockClient client = Client("leases: 2");
  ExtendsLeases();
  SessionCaller session(channel_);
  session.Open();
  session.Send({support::AcquireOperation(1, kOwn, kLeaseId)});
  EXPECT_TRUE(session.ReadResult()->acquire().has_lease());
  v1::SessionRequest forget;
  forget.mutable_forget()->set_name(kOwn);
  forget.mutable_forget()->set_lease_id(kLeaseId);
  session.Send(forget);
  {
    SessionCaller breaking(channel_);
    breaking.Open();
    breaking.Send({support::AcquireOperation(1, kOther, kLeaseId)});
    EXPECT_TRUE(breaking.ReadResult()->acquire().has_lease());
  }
  const auto extend_and_look = [&](const char* when) {
    SCOPED_TRACE(when);
    session.Send({support::ExtendOperation(2, kOwn, kLeaseId)});
    EXPECT_TRUE(session.ReadResult()->extend().has_lease());
    EXPECT_EQ(client.Acquire(Acquire('c')).reason, "LEASE_LIMIT");
  };
  extend_and_look("forgotten and broken off");
  session.Send({support::ReleaseOperation(3, kOther, kLeaseId)});
  ASSERT_TRUE(session.ReadResult()->has_release());
  EXPECT_TRUE(client.Acquire(Acquire('b')).ok()) << "one is released";
  extend_and_look("one is released, and another one granted");

  // A session keeps it once more.
  Adopt(session, kLeaseId);
  extend_and_look("adopted");
  session.Send({support::ReleaseOperation(4, kOwn, kLeaseId)});
  ASSERT_TRUE(session.ReadResult()->has_release());
  EXPECT_TRUE(client.Acquire(Acquire('c')).ok());
}

// As a client does that moves to another daemon, or back.
TEST_F(QuotaTest, LeaseThatMovesToAnotherSessionCountsOnce) {
  support::LockClient client = Client("leases: 2");
  ExtendsLeases();
  SessionCaller next(channel_);
  next.Open();
  {
    SessionCaller session(channel_);
    session.Open();
    session.Send({support::AcquireOperation(1, kOwn, kLeaseId)});
    EXPECT_TRUE(session.ReadResult()->acquire().has_lease());
    Adopt(next, kLeaseId);
    session.Close();
    while (session.Read()) {
    }
    session.Finish();
  }
  server_.loop().RunAndWait([] {});
  EXPECT_TRUE(client.Acquire(Acquire('b')).ok());
  EXPECT_EQ(client.Acquire(Acquire('c')).reason, "LEASE_LIMIT");
}

TEST_F(QuotaTest, LeaseThatASessionAdoptsCountsOnce) {
  support::LockClient client = Client("leases: 2");
  ExtendsLeases();
  ASSERT_TRUE(client.Acquire(Acquire('a')).ok());
  SessionCaller session(channel_);
  session.Open();
  Adopt(session, std::string(32, 'a'));
  EXPECT_TRUE(client.Acquire(Acquire('b')).ok());
  EXPECT_EQ(client.Acquire(Acquire('c')).reason, "LEASE_LIMIT");
}

TEST_F(QuotaTest, OffersCountAsLeases) {
  support::LockClient client = Client("leases: 1");
  ExtendsLeases();
  server_.store().on_acquire = [this](const core::AcquireRequest& request, auto done) {
    core::Lease lease = LeaseOf(request, request.ttl, request.ttl);
    lease.offered = true;
    server_.store().AnswerLater<core::AcquireOutcome>(std::move(done), core::AcquireOutcome(lease));
  };
  SessionCaller session(channel_);
  session.Open();
  v1::SessionOperation acquire = support::AcquireOperation(1, kOwn, kLeaseId, seconds(60));
  acquire.mutable_acquire()->set_confirm(true);
  session.Send({acquire});
  while (!session.Read()->has_offer()) {
  }
  EXPECT_EQ(client.Acquire(Acquire('b')).reason, "LEASE_LIMIT");
  acquire.set_id(2);
  acquire.mutable_acquire()->set_name(kOther);
  session.Send({acquire});
  EXPECT_EQ(NameOf(session.ReadResult()->error()), "LEASE_LIMIT");

  session.Send({support::ExtendOperation(3, kOwn, kLeaseId)});
  EXPECT_TRUE(session.ReadResult()->extend().has_lease());
  EXPECT_EQ(client.Acquire(Acquire('b')).reason, "LEASE_LIMIT") << "it is claimed";
  session.Send({support::ReleaseOperation(4, kOwn, kLeaseId)});
  EXPECT_TRUE(session.ReadResult()->has_release());
  EXPECT_TRUE(client.Acquire(Acquire('b')).ok());
}

TEST_F(QuotaTest, WaitersAndSessionsAreGivenBack) {
  support::LockClient client = Client("waiters: 0, sessions: 1");
  v1::AcquireRequest request = Acquire('a');
  request.mutable_wait_timeout()->set_seconds(1);
  EXPECT_EQ(client.Acquire(request).reason, "WAITER_LIMIT");
  for (int i = 0; i < 3; ++i) {
    SessionCaller session(channel_);
    session.Open();
    SessionCaller second(channel_);
    v1::SessionRequest open;
    open.mutable_open();
    second.Send(open);
    EXPECT_FALSE(second.Read());
    EXPECT_EQ(support::ReasonOf(second.Finish()), "RATE_LIMIT");
    session.Close();
    while (session.Read()) {
    }
    session.Finish();
    server_.loop().RunAndWait([] {});
  }
}

TEST_F(QuotaTest, WaiterOfASessionCountsWhateverItsNumberIsUsedFor) {
  Client("waiters: 1");
  server_.store().on_acquire = [this](const core::AcquireRequest&, auto done) {
    server_.store().AnswerLater<core::AcquireOutcome>(
        std::move(done), core::Waiting{.number = 1, .position = 1, .free_in = seconds(30)});
  };
  server_.store().on_poll = [this](const core::PollRequest&, auto done) {
    server_.store().AnswerLater<core::PollAnswer>(
        std::move(done), core::PollAnswer{.free_in = seconds(30), .waiters = 1});
  };
  SessionCaller session(channel_);
  session.Open();
  session.Send({support::AcquireOperation(1, kOwn, kLeaseId, seconds(60)),
                support::ReleaseOperation(1, kOther, kLeaseId)});
  ASSERT_TRUE(session.ReadResult()->has_release());
  session.Send({support::AcquireOperation(2, kOwn, kLeaseId, seconds(60))});
  EXPECT_EQ(NameOf(session.ReadResult()->error()), "WAITER_LIMIT");
}

TEST_F(QuotaTest, OperationsBeyondTheRateSayWhenToComeAgain) {
  support::LockClient client = Client("operations_per_second: 3");
  int admitted = 0;
  support::Answer<v1::AcquireResponse> answer;
  while ((answer = client.Acquire(Acquire('a'))).ok()) ++admitted;
  EXPECT_GE(admitted, 3);
  EXPECT_EQ(answer.reason, "RATE_LIMIT");
  EXPECT_TRUE(client.Release(support::ReleaseOf(kOwn, kLeaseId)).ok()) << "goes beyond it";
}

// --- certificates -------------------------------------------------------------------------------

using Properties = std::vector<grpc::AuthProperty>;

TEST(CredentialsTest, NamesAreThoseOfTheVerifiedCertificate) {
  const auto names = CertificateIn(Properties{{"peer_dns", "a.example"},
                                              {"x509_pem_cert", "-----BEGIN"},
                                              {"x509_common_name", "cn"},
                                              {"peer_dns", "b.example"},
                                              {"peer_spiffe_id", "spiffe://a/b"}});
  ASSERT_TRUE(names);
  EXPECT_EQ(names->common_name, "cn");
  EXPECT_THAT(names->dns_names, ElementsAre("a.example", "b.example"));
  EXPECT_THAT(names->spiffe_ids, ElementsAre("spiffe://a/b"));
}

// It has to be rejected for having no name, not taken for a caller without a certificate.
TEST(CredentialsTest, CertificateWithoutNamesIsACertificate) {
  const auto names = CertificateIn(Properties{{"x509_pem_cert", "-----BEGIN"}});
  ASSERT_TRUE(names);
  EXPECT_EQ(names->common_name, "");
  EXPECT_FALSE(CertificateIn(Properties{{"transport_security_type", "insecure"}}));
}

}  // namespace
}  // namespace lockkeeper::rpc
