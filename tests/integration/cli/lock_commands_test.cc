// SPDX-License-Identifier: Apache-2.0
//
// acquire, extend, release and fence as processes: every outcome and exit code, as text and as
// JSON. Method: a service in this process gives each answer that a daemon can give.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "support/client/fake_lock_server.h"
#include "support/process/cli_process.h"

namespace lockkeeper {
namespace {

using support::CliResult;
using support::FakeError;
using support::FakeLockServer;
using Words = std::vector<std::string>;

constexpr char kId[] = "0123456789abcdef0123456789abcdef";

class CliLockCommandsTest : public testing::Test {
 protected:
  CliResult Run(Words words) {
    return support::RunCli(LOCKKEEPER_PROGRAM, server_.address(), words);
  }

  CliResult RunJson(Words words) {
    words.insert(words.begin(), {"--output", "json"});
    return Run(std::move(words));
  }

  FakeLockServer server_;
};

// Exactly one JSON object, on one line.
void ExpectOneObject(const CliResult& result) {
  EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 1) << result.out;
  EXPECT_TRUE(result.out.starts_with("{\"outcome\":\"")) << result.out;
  EXPECT_TRUE(result.out.ends_with("}\n")) << result.out;
}

bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_F(CliLockCommandsTest, AcquirePrintsLeaseIdAndTokenAndLeavesTheLockHeld) {
  const CliResult json = RunJson({"acquire", "report", "--ttl", "20s", "--owner", "me"});

  EXPECT_EQ(json.exit_code, 0) << json.err;
  ExpectOneObject(json);
  const std::string id = server_.HolderOf("report");
  EXPECT_EQ(id.size(), 32u);
  for (const std::string& part :
       {std::string(R"("outcome":"granted")"), std::string(R"("name":"report")"),
        "\"lease_id\":\"" + id + "\"", std::string(R"("fencing_token":1,)"),
        std::string(R"("remaining_ttl_ms":20000)"),
        std::string(R"("previous_lease_expired":false)"),
        std::string(R"("reassertion":"proof of 1")")}) {
    EXPECT_TRUE(Has(json.out, part)) << part << " is not in " << json.out;
  }
  EXPECT_EQ(server_.acquire.seen()[0].owner(), "me");
  EXPECT_EQ(server_.release.seen().size(), 0u);

  const CliResult text = Run({"acquire", "other"});
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_TRUE(Has(text.out, server_.HolderOf("other"))) << text.out;
  EXPECT_TRUE(Has(text.out, "fencing token  2")) << text.out;
  EXPECT_TRUE(Has(text.out, "reassertion    proof of 2")) << text.out;
  EXPECT_EQ(text.err, "");
  EXPECT_TRUE(Has(server_.acquire.seen()[1].owner(), "@"));
}

TEST_F(CliLockCommandsTest, AcquireSendsEveryOption) {
  EXPECT_EQ(Run({"acquire", "report", "--lease-id", kId, "--label", "a=b", "--label",
                 "c=", "--lock-delay", "2s", "--max-hold", "1h", "--hold-at-least", "90s", "--wait",
                 "5s"})
                .exit_code,
            0);

  const v1::AcquireRequest request = server_.acquire.seen().at(0);
  EXPECT_EQ(request.lease_id(), kId);
  EXPECT_EQ(request.labels().at("a"), "b");
  EXPECT_EQ(request.labels().at("c"), "");
  EXPECT_EQ(request.lock_delay().seconds(), 2);
  EXPECT_EQ(request.max_hold().seconds(), 3600);
  EXPECT_EQ(request.hold_at_least().seconds(), 90);
  EXPECT_EQ(request.wait_timeout().seconds() + (request.wait_timeout().nanos() > 0 ? 1 : 0), 5);
  EXPECT_FALSE(request.has_ttl());
}

TEST_F(CliLockCommandsTest, ContentionIs75AndSaysWhoHoldsTheLock) {
  ASSERT_EQ(Run({"acquire", "report", "--owner", "some\"body"}).exit_code, 0);

  const CliResult json = RunJson({"acquire", "report"});
  const CliResult text = Run({"acquire", "report"});

  EXPECT_EQ(json.exit_code, 75);
  ExpectOneObject(json);
  EXPECT_TRUE(Has(json.out, R"("outcome":"contention","name":"report","reason":"HELD")"))
      << json.out;
  EXPECT_TRUE(Has(json.out, R"("holder_owner":"some\"body","remaining_ttl_ms":30000,"waiters":0)"))
      << json.out;
  EXPECT_FALSE(Has(json.out, "lease_id")) << json.out;
  EXPECT_EQ(text.exit_code, 75);
  EXPECT_TRUE(Has(text.out, "`report` is held by `some\"body`")) << text.out;
}

TEST_F(CliLockCommandsTest, ExtendAndRelease) {
  ASSERT_EQ(Run({"acquire", "report", "--lease-id", kId}).exit_code, 0);

  const CliResult extended = RunJson(
      {"extend", "report", kId, "--ttl", "12s", "--token", "1", "--reassertion", "proof of 1"});
  EXPECT_EQ(extended.exit_code, 0);
  ExpectOneObject(extended);
  EXPECT_TRUE(Has(extended.out, R"("outcome":"extended","name":"report")")) << extended.out;
  EXPECT_TRUE(Has(extended.out, R"("remaining_ttl_ms":12000)")) << extended.out;
  EXPECT_TRUE(Has(extended.out, R"("reassertion":"proof of 1.1")")) << extended.out;
  EXPECT_EQ(server_.extend.seen().at(0).fencing_token(), 1);
  EXPECT_EQ(server_.extend.seen().at(0).reassertion(), "proof of 1");
  const CliResult extended_text = Run({"extend", "report", kId});
  EXPECT_FALSE(Has(extended_text.out, kId)) << "the id is a credential";

  const CliResult released = RunJson({"release", "report", kId});
  EXPECT_EQ(released.exit_code, 0);
  ExpectOneObject(released);
  EXPECT_TRUE(Has(released.out, R"({"outcome":"released","name":"report")")) << released.out;

  const CliResult lost = RunJson({"extend", "report", kId});
  EXPECT_EQ(lost.exit_code, 70);
  ExpectOneObject(lost);
  EXPECT_TRUE(Has(lost.out, R"({"outcome":"lease_lost","name":"report","reason":"LEASE_LOST")"))
      << lost.out;
}

TEST_F(CliLockCommandsTest, NotReleasedIs76WithItsReason) {
  struct Case {
    v1::NotReleasedReason reason;
    std::string name;
  };
  for (const Case& each : {Case{v1::NOT_RELEASED_REASON_EXPIRED, "EXPIRED"},
                           Case{v1::NOT_RELEASED_REASON_NOT_HOLDER, "NOT_HOLDER"},
                           Case{v1::NOT_RELEASED_REASON_WAITER_REMOVED, "WAITER_REMOVED"}}) {
    server_.release.Always([&](const support::FakeCall&, const auto&, auto* response) {
      response->set_reason(each.reason);
      return grpc::Status::OK;
    });
    const CliResult json = RunJson({"release", "report", kId});
    EXPECT_EQ(json.exit_code, 76);
    ExpectOneObject(json);
    EXPECT_TRUE(Has(json.out, R"("outcome":"not_released")")) << json.out;
    EXPECT_TRUE(Has(json.out, "\"reason\":\"" + each.name + "\"")) << json.out;
    EXPECT_EQ(Run({"release", "report", kId}).exit_code, 76);
  }
}

TEST_F(CliLockCommandsTest, FenceSaysTheVerdict) {
  struct Case {
    v1::Verdict verdict;
    std::string outcome;
    int exit_code;
  };
  for (const Case& each :
       {Case{v1::VERDICT_ADMITTED, "admitted", 0}, Case{v1::VERDICT_STALE, "stale", 76},
        Case{v1::VERDICT_EXPIRED, "expired", 76},
        Case{v1::VERDICT_UNKNOWN_TOKEN, "unknown_token", 76},
        Case{static_cast<v1::Verdict>(99), "unknown_token", 76}}) {
    server_.fence.Always([&](const support::FakeCall&, const auto& request, auto* response) {
      EXPECT_EQ(request.fencing_token(), 7);
      response->set_verdict(each.verdict);
      response->set_newest_fencing_token(9);
      return grpc::Status::OK;
    });
    const CliResult json = RunJson({"fence", "report", "7", "--require-live-lease"});
    EXPECT_EQ(json.exit_code, each.exit_code);
    ExpectOneObject(json);
    EXPECT_EQ(json.out, "{\"outcome\":\"" + each.outcome +
                            "\",\"name\":\"report\",\"fencing_token\":7,"
                            "\"newest_fencing_token\":9}\n");
    EXPECT_EQ(Run({"fence", "report", "7"}).exit_code, each.exit_code);
  }
}

TEST_F(CliLockCommandsTest, EveryErrorHasItsExitCodeAndKeepsItsReason) {
  struct Case {
    FakeError error;
    int exit_code;
  };
  using grpc::StatusCode;
  for (const Case& each : {
           Case{{.code = StatusCode::INVALID_ARGUMENT, .reason = "INVALID_FIELD", .field = "ttl"},
                65},
           Case{{StatusCode::FAILED_PRECONDITION, "LEASE_ENDED"}, 1},
           Case{{StatusCode::UNAVAILABLE, "STORE_QUARANTINED", "held back", "", 60'000}, 69},
           Case{{StatusCode::RESOURCE_EXHAUSTED, "RATE_LIMIT"}, 69},
           Case{{StatusCode::UNAUTHENTICATED, ""}, 77},
           Case{{StatusCode::PERMISSION_DENIED, ""}, 77},
           Case{{StatusCode::DATA_LOSS, "STORE_CORRUPT"}, 1},
           Case{{StatusCode::INTERNAL, "INVARIANT_VIOLATED"}, 1},
           Case{{StatusCode::UNIMPLEMENTED, ""}, 1},
       }) {
    server_.acquire.Always([&](const support::FakeCall&, const auto&, auto*) {
      return support::StatusOf(each.error);
    });
    const CliResult json = RunJson({"acquire", "report"});
    EXPECT_EQ(json.exit_code, each.exit_code) << json.out;
    ExpectOneObject(json);
    EXPECT_TRUE(
        Has(json.out, R"({"outcome":"error","name":"report","reason":")" + each.error.reason))
        << json.out;
    EXPECT_TRUE(Has(json.out, each.error.message)) << json.out;
    EXPECT_EQ(Has(json.out, R"("field":"ttl")"), !each.error.field.empty()) << json.out;

    const CliResult text = Run({"acquire", "report"});
    EXPECT_EQ(text.exit_code, each.exit_code);
    EXPECT_EQ(text.out, "");
    EXPECT_TRUE(text.err.starts_with("lockkeeper: ")) << text.err;
  }
}

TEST_F(CliLockCommandsTest, UnknownOutcomeIs69AndTheLeaseIdIsReleased) {
  server_.acquire.Always([&](const support::FakeCall&, const auto& request, auto* response) {
    EXPECT_TRUE(server_.HonestAcquire(request, response).ok());
    return support::StatusOf(
        {grpc::StatusCode::UNAVAILABLE, "OUTCOME_UNKNOWN", "no reply", "", 60'000});
  });

  const CliResult json = RunJson({"acquire", "report"});

  EXPECT_EQ(json.exit_code, 69);
  EXPECT_TRUE(Has(json.out, R"("reason":"OUTCOME_UNKNOWN")")) << json.out;
  EXPECT_EQ(server_.HolderOf("report"), "");
}

TEST_F(CliLockCommandsTest, UsageErrorsAre64AndAlsoJsonWhenAskedFor) {
  for (const Words& words :
       {Words{}, Words{"aquire", "x"}, Words{"acquire"}, Words{"acquire", "x", "--ttl", "30"},
        Words{"acquire", "x", "--tll", "30s"}, Words{"release", "x"}, Words{"fence", "x", "y"},
        Words{"acquire", "x", "--server", "nonsense"}, Words{"run", "x", "true"},
        Words{"run", "x", "--ttl", "8s", "--grace", "5s", "--", "true"}}) {
    const CliResult text = Run(words);
    EXPECT_EQ(text.exit_code, 64) << testing::PrintToString(words);
    EXPECT_EQ(text.out, "");
    EXPECT_TRUE(text.err.starts_with("lockkeeper: ")) << text.err;
    const CliResult json = RunJson(words);
    EXPECT_EQ(json.exit_code, 64);
    ExpectOneObject(json);
    EXPECT_TRUE(Has(json.out, R"({"outcome":"error","reason":"USAGE","message":")")) << json.out;
  }
  EXPECT_EQ(server_.acquire.seen().size(), 0u);
}

TEST_F(CliLockCommandsTest, ServiceThatIsAwayIs69) {
  for (const Words& words : {Words{"release", "x", kId}, Words{"get", "x"}, Words{"list"},
                             Words{"health"}, Words{"force-release", "x", "--reason", "r"}}) {
    Words away = words;
    away.insert(away.end(), {"--server", "127.0.0.1:1", "--output=json"});
    const CliResult json = Run(away);
    EXPECT_EQ(json.exit_code, 69) << json.out;
    ExpectOneObject(json);
    EXPECT_TRUE(Has(json.out, R"("outcome":"error")")) << json.out;
    EXPECT_TRUE(Has(json.out, R"("reason":"UNAVAILABLE")")) << json.out;
  }
}

TEST_F(CliLockCommandsTest, HelpAndVersionGoToStdout) {
  const CliResult help = Run({"--help"});
  EXPECT_EQ(help.exit_code, 0);
  for (const char* command :
       {"acquire", "extend", "release", "fence", "get", "list", "force-release", "health", "run"}) {
    EXPECT_TRUE(Has(help.out, command)) << command;
  }
  EXPECT_TRUE(Has(help.out, "--server ADDRESS")) << help.out;
  EXPECT_TRUE(Has(help.out, "127.0.0.1:7600")) << "its default: " << help.out;
  for (const char* command : {"acquire", "run"}) {
    const CliResult own = Run({command, "--help"});
    EXPECT_EQ(own.exit_code, 0);
    EXPECT_TRUE(Has(own.out, "--wait DURATION")) << own.out;
    EXPECT_TRUE(Has(own.out, "stand in line")) << own.out;
  }
  const CliResult version = Run({"--version"});
  EXPECT_EQ(version.exit_code, 0);
  EXPECT_TRUE(version.out.starts_with("lockkeeper 0.")) << version.out;
}

}  // namespace
}  // namespace lockkeeper
