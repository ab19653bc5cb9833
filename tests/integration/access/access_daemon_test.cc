// SPDX-License-Identifier: Apache-2.0
//
// Tokens and a policy at a real daemon, by the command line: who may do what, and files that change
// while the daemon runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "integration/cli/daemon_fixture.h"
#include "support/process/http_get.h"
#include "support/tls/test_authority.h"

namespace lockkeeper {
namespace {

using support::CliResult;
using support::DaemonProcess;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Words = std::vector<std::string>;

constexpr char kPolicy[] =
    "roles:\n"
    "  worker: {rules: [{verbs: [acquire, extend, release, fence], prefixes: [jobs/]}]}\n"
    "  operator: {rules: [{verbs: [inspect, list, force-release], prefixes: ['']}, {verbs: "
    "admin}]}\n"
    "bindings:\n"
    "  - {roles: worker, principals: [ci, 'w-*']}\n"
    "  - {roles: operator, principals: ann}\n";

class AccessDaemonTest : public testing::Test {
 protected:
  void Write(const std::string& name, const std::string& text) { directory_.Replace(name, text); }

  // Makes a token for `name`, keeps it in a file, and returns its entry for the daemon.
  std::string MakeToken(const std::string& name) {
    const CliResult made = support::RunCli(LOCKKEEPER_PROGRAM, "",
                                           {"token", "create", "--name", name, "--output", "json"});
    EXPECT_EQ(made.exit_code, 0) << made.err;
    const Json json(made);
    Write(name, json.Text("token") + "\n");
    return json.Text("entry") + "\n";
  }

  std::unique_ptr<DaemonProcess> Start(const std::string& listen = "127.0.0.1:0",
                                       const Words& more = {}) {
    Words words = {"--redis",       redis_.url(),
                   "--listen",      listen,
                   "--http-listen", "127.0.0.1:0",
                   "--policy",      directory_.Path("policy.yaml"),
                   "--tokens",      directory_.Path("tokens.yaml")};
    words.insert(words.end(), more.begin(), more.end());
    auto daemon = std::make_unique<DaemonProcess>(support::DaemonProcessOptions{
        .program = LOCKKEEPERD_PROGRAM, .arguments = words, .environment = {}});
    daemon->WaitUntilReady();
    return daemon;
  }

  CliResult RunAs(const std::string& who, const DaemonProcess& daemon, Words words) {
    if (!who.empty()) words.insert(words.begin(), {"--token-file", directory_.Path(who)});
    return support::RunCli(LOCKKEEPER_PROGRAM, daemon.GrpcAddress(), words);
  }

  // Whether the caller is allowed to, or "rejected".
  std::string Can(const std::string& who, const DaemonProcess& daemon, const std::string& verb,
                  const std::string& name) {
    Words words = {"--output", "json", "can", verb};
    if (!name.empty()) words.push_back(name);
    const CliResult result = RunAs(who, daemon, words);
    const std::string outcome = Json(result).Text("outcome");
    EXPECT_EQ(result.exit_code, outcome == "allowed" ? 0 : 77) << result.out;
    return outcome;
  }

  support::TemporaryDirectory directory_;
  support::RedisServer redis_;
};

TEST_F(AccessDaemonTest, EachTokenMayDoWhatThePolicySays) {
  Write("tokens.yaml", "tokens:\n" + MakeToken("ci") + MakeToken("ann"));
  MakeToken("stranger");
  Write("policy.yaml", kPolicy);
  const auto daemon = Start();

  const CliResult who = RunAs("ci", *daemon, {"--output", "json", "whoami"});
  EXPECT_EQ(Json(who).Text("principal"), "ci");
  EXPECT_EQ(Json(who).Text("proof"), "token");
  EXPECT_EQ(Json(RunAs("", *daemon, {"--output", "json", "whoami"})).Text("principal"),
            "anonymous");
  EXPECT_EQ(Can("ci", *daemon, "acquire", "jobs/1"), "allowed");
  EXPECT_EQ(Can("ci", *daemon, "acquire", "other"), "not_allowed");
  EXPECT_EQ(Can("ann", *daemon, "admin", ""), "allowed");
  EXPECT_EQ(Can("stranger", *daemon, "fence", "jobs/1"), "error");

  EXPECT_EQ(RunAs("ci", *daemon, {"acquire", "jobs/1"}).exit_code, 0);
  const CliResult denied = RunAs("ci", *daemon, {"acquire", "other"});
  EXPECT_EQ(denied.exit_code, 77);
  EXPECT_THAT(denied.err,
              HasSubstr("principal \"ci\" (token) does not have the right acquire on the lock"));
  const CliResult rejected = RunAs("stranger", *daemon, {"acquire", "jobs/2"});
  EXPECT_EQ(rejected.exit_code, 77);
  EXPECT_THAT(rejected.err, HasSubstr("the token is not known"));
  EXPECT_EQ(RunAs("", *daemon, {"get", "jobs/1"}).exit_code, 77);
  const CliResult seen = RunAs("ann", *daemon, {"--output", "json", "get", "jobs/1"});
  EXPECT_EQ(Json(seen).Text("principal"), "ci");
}

// Whoever knows its id.
TEST_F(AccessDaemonTest, TokenGoesToAFileThatIsReadByItsOwnerOnly) {
  const std::string path = directory_.Path("ci.token");
  const Words words = {"token", "create", "--name", "ci", "--out", path};
  const CliResult made = support::RunCli(LOCKKEEPER_PROGRAM, "", words);
  EXPECT_EQ(made.exit_code, 0) << made.err;
  std::string token;
  ASSERT_TRUE(std::getline(std::ifstream(path), token));
  EXPECT_EQ(made.out.find(token), std::string::npos);
  EXPECT_EQ(std::filesystem::status(path).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  Write("tokens.yaml", "tokens:\n" + made.out);
  Write("policy.yaml", "roles: {}\n");
  const auto daemon = Start();
  EXPECT_THAT(RunAs("ci.token", *daemon, {"whoami"}).out, HasSubstr("ci\n  proof    token"));

  const CliResult again = support::RunCli(LOCKKEEPER_PROGRAM, "", words);
  EXPECT_EQ(again.exit_code, 64);
  EXPECT_THAT(again.err, HasSubstr("--out: cannot write a new file"));
  EXPECT_EQ(support::RunCli(LOCKKEEPER_PROGRAM, "", {"token", "hash", "--name", "n", "--out", "x"})
                .exit_code,
            64);
}

TEST_F(AccessDaemonTest, LeaseIsReleasedByItsPrincipalOnly) {
  Write("tokens.yaml", "tokens:\n" + MakeToken("ci") + MakeToken("w-1"));
  Write("policy.yaml", kPolicy);
  const auto daemon = Start();
  const CliResult held = RunAs("ci", *daemon, {"--output", "json", "acquire", "jobs/1"});
  const std::string id = Json(held).Text("lease_id");

  EXPECT_EQ(RunAs("w-1", *daemon, {"extend", "jobs/1", id}).exit_code, 70);
  EXPECT_EQ(RunAs("w-1", *daemon, {"release", "jobs/1", id}).exit_code, 76);
  EXPECT_EQ(RunAs("ci", *daemon, {"extend", "jobs/1", id}).exit_code, 0);
  EXPECT_EQ(RunAs("ci", *daemon, {"release", "jobs/1", id}).exit_code, 0);
}

TEST_F(AccessDaemonTest, CertificateNamesItsOwnerUnlessATokenDoes) {
  support::TestAuthority authority;
  const support::TlsFiles server = authority.IssueForLocalhost();
  const support::TlsFiles job = authority.Issue({.common_name = "x", .names = {"7.jobs.example"}});
  const support::TlsFiles other = authority.Issue({.common_name = "stranger"});
  Write("tokens.yaml", "tokens:\n" + MakeToken("ci"));
  Write("policy.yaml", "certificates: [{from: dns, match: '*.jobs.example', principal: 'w-*'}]\n" +
                           std::string(kPolicy));
  const auto daemon =
      Start("mtls://127.0.0.1:0", {"--tls-cert", server.certificate, "--tls-key", server.key,
                                   "--tls-client-ca", authority.ca_file()});
  const std::string address = daemon->GrpcAddress();
  const auto run = [&](const support::TlsFiles& own, Words words) {
    words.insert(words.begin(), {"--server", "tls://" + address.substr(address.rfind('/') + 1),
                                 "--tls-ca", authority.ca_file(), "--tls-cert", own.certificate,
                                 "--tls-key", own.key, "--output", "json"});
    return support::RunCli(LOCKKEEPER_PROGRAM, "", words);
  };

  const CliResult who = run(job, {"whoami"});
  EXPECT_EQ(Json(who).Text("principal"), "w-7") << who.out << who.err;
  EXPECT_EQ(Json(who).Text("proof"), "certificate");
  EXPECT_EQ(run(job, {"can", "acquire", "jobs/1"}).exit_code, 0);
  EXPECT_EQ(run(job, {"can", "acquire", "other"}).exit_code, 77);
  EXPECT_EQ(run(job, {"acquire", "jobs/1"}).exit_code, 0) << "in a session";
  EXPECT_EQ(Json(run(job, {"--token-file", directory_.Path("ci"), "whoami"})).Text("principal"),
            "ci");
  const CliResult rejected = run(other, {"acquire", "jobs/2"});
  EXPECT_EQ(rejected.exit_code, 77);
  EXPECT_THAT(Json(rejected).Text("message"), HasSubstr("no entry of certificates"));
}

TEST_F(AccessDaemonTest, ChangedFilesAreUsedAndBrokenOnesAreNot) {
  const std::string ci = MakeToken("ci");
  Write("tokens.yaml", "tokens:\n" + ci);
  Write("policy.yaml", kPolicy);
  const auto daemon = Start();
  ASSERT_EQ(Can("ci", *daemon, "acquire", "jobs/1"), "allowed");

  Write("tokens.yaml", "tokens:\n" + ci + MakeToken("w-2"));
  EXPECT_TRUE(support::WaitUntil(
      [&] { return RunAs("w-2", *daemon, {"can", "fence", "jobs/1"}).exit_code == 0; }));

  Write("policy.yaml", "roles: {worker: {rulez: []}}\n");
  daemon->WaitForLog("files.refused");
  EXPECT_THAT(daemon->Stderr(), AllOf(HasSubstr("policy.yaml:1: roles.worker.rulez: unknown key"),
                                      HasSubstr("files=access")));
  EXPECT_EQ(Can("ci", *daemon, "acquire", "jobs/1"), "allowed") << "the old one counts";
  EXPECT_THAT(support::HttpGet(daemon->HttpAddress(), "/metrics").body,
              HasSubstr("lockkeeper_file_reload_total{files=\"access\",outcome=\"refused\"} 1"));

  Write("policy.yaml", "roles: {nobody: {rules: []}}\n");
  EXPECT_TRUE(support::WaitUntil(
      [&] { return RunAs("ci", *daemon, {"can", "acquire", "jobs/1"}).exit_code == 77; }));
}

// The library and the command line show it; so it must not go over a connection that others read.
TEST_F(AccessDaemonTest, TokenIsNotShownInPlainTextToAnotherMachine) {
  MakeToken("ci");
  for (const Words& words : {Words{"whoami"}, Words{"acquire", "n"}}) {
    Words all = {"--token-file", directory_.Path("ci"), "--server", "203.0.113.1:7600"};
    all.insert(all.end(), words.begin(), words.end());
    const CliResult result = support::RunCli(LOCKKEEPER_PROGRAM, "", all);
    EXPECT_EQ(result.exit_code, 64) << words[0];
    EXPECT_THAT(result.err, AllOf(HasSubstr("--token-file"), HasSubstr("not encrypted")));
  }
}

TEST_F(AccessDaemonTest, TokenFileThatCannotBeReadIsNamed) {
  for (const Words& words : {Words{"whoami"}, Words{"acquire", "n"}}) {
    Words all = {"--token-file", directory_.Path("none"), "--server", "127.0.0.1:1"};
    all.insert(all.end(), words.begin(), words.end());
    const CliResult result = support::RunCli(LOCKKEEPER_PROGRAM, "", all);
    EXPECT_NE(result.exit_code, 0);
    EXPECT_THAT(result.err, HasSubstr("cannot be opened")) << words[0];
  }
}

TEST_F(AccessDaemonTest, CheckConfigFindsWhatIsWrongInTheFiles) {
  const auto check = [&] {
    DaemonProcess daemon(
        {.program = LOCKKEEPERD_PROGRAM,
         .arguments = {"--embedded", "--check-config", "--policy", directory_.Path("policy.yaml"),
                       "--tokens", directory_.Path("tokens.yaml")},
         .environment = {}});
    const int code = daemon.ExitCode();
    return std::to_string(code) + " " + daemon.Stdout() + daemon.Stderr();
  };
  Write("tokens.yaml", "tokens: [{name: ci, sha256: secret}]\n");
  Write("policy.yaml", "bindings: [{roles: worker, principals: ci}]\n");
  EXPECT_THAT(check(), AllOf(HasSubstr("78 "), HasSubstr("there is no role \"worker\""),
                             HasSubstr("tokens[1].sha256: must be 64"), Not(HasSubstr("secret"))));
  Write("tokens.yaml", "tokens: []\n");
  Write("policy.yaml", "roles: {worker: {rules: []}}\n");
  EXPECT_THAT(check(), AllOf(HasSubstr("0 "), HasSubstr("roles.worker: no binding gives it"),
                             HasSubstr("The configuration is good")));
}

}  // namespace
}  // namespace lockkeeper
