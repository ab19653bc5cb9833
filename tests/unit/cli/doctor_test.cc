// SPDX-License-Identifier: Apache-2.0
// What the doctor finds wrong, of each thing that can be. Method: a daemon that is well, in which
// each test spoils one thing.
#include "cli/doctor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

namespace lockkeeper::cli {
namespace {

using Severity = Finding::Severity;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr char kVersion[] = "1.2.3";
constexpr int64_t kNow = 1'800'000'000;
constexpr int64_t kDay = 86'400;

Examination Well(const std::string& server = "127.0.0.1:7600") {
  Examination examined{.server = server,
                       .is_encrypted = true,
                       .is_serving = true,
                       .asked = absl::FromUnixSeconds(kNow),
                       .answered = absl::FromUnixSeconds(kNow)};
  admin::v1::GetServerInfoResponse& info = examined.info;
  info.set_version(kVersion);
  info.mutable_current_time()->set_seconds(kNow);
  info.add_grpc_addresses("127.0.0.1:7600");
  info.mutable_max_ttl()->set_seconds(60);
  admin::v1::StoreInfo& store = *info.mutable_store();
  store.set_kind("redis");
  store.set_address("127.0.0.1:6379");
  store.set_reachable(true);
  store.set_id("5e050c7dcb0aeec3");
  store.set_run_id("7653712581541b622f618525e459592410337254");
  store.set_epoch(1);
  store.mutable_latency()->set_nanos(300'000);
  store.mutable_clock_ahead();
  store.mutable_settings()->insert({"store.key_prefix", "lk:"});
  return examined;
}

// What is worse than a note.
std::vector<Finding> Wrong(std::vector<Finding> findings) {
  std::erase_if(findings, [](const Finding& each) { return each.severity < Severity::kWarning; });
  return findings;
}

class DoctorTest : public testing::Test {
 protected:
  // The only wrong thing is found by `check`, and its text has `part`.
  void ExpectOne(Severity severity, const std::string& check, const std::string& part) {
    const std::vector<Finding> wrong = Wrong(Judge(examined_, kVersion));
    ASSERT_EQ(wrong.size(), 1U) << "of " << check;
    EXPECT_EQ(wrong[0].severity, severity) << wrong[0].text;
    EXPECT_EQ(wrong[0].check, check);
    EXPECT_THAT(wrong[0].text, HasSubstr(part));
    EXPECT_EQ(wrong[0].server, examined_.server);
  }

  admin::v1::GetServerInfoResponse& info() { return examined_.info; }
  admin::v1::StoreInfo& store() { return *examined_.info.mutable_store(); }

  Examination examined_ = Well();
};

TEST_F(DoctorTest, FindsNothingWrongWithADaemonThatIsWell) {
  EXPECT_THAT(Wrong(Judge(examined_, kVersion)), IsEmpty());
  EXPECT_EQ(ReportOf(Judge(examined_, kVersion)).exit_code, 0);
}

TEST_F(DoctorTest, ServerThatCannotBeReachedIsAllThatIsSaidOfIt) {
  examined_.reached = absl::UnavailableError("cannot reach 127.0.0.1:7600: connection refused");

  const auto findings = Judge(examined_, kVersion);

  ASSERT_EQ(findings.size(), 1U);
  ExpectOne(Severity::kError, "reach", "connection refused");
}

TEST_F(DoctorTest, FailedTlsIsNamed) {
  examined_.reached = absl::UnavailableError("no answer");
  examined_.tls_problem = "the certificate has expired";
  ExpectOne(Severity::kError, "tls", "the certificate has expired");
}

TEST_F(DoctorTest, TokenThatCannotBeReadIsNoTroubleOfTheNetwork) {
  examined_.reached = absl::InvalidArgumentError("token_file: cannot be read");
  ExpectOne(Severity::kError, "rights", "token_file");
}

TEST_F(DoctorTest, PlainTextToAnotherMachineIsAWarning) {
  examined_.is_encrypted = false;
  EXPECT_THAT(Wrong(Judge(examined_, kVersion)), IsEmpty()) << "it stays on this machine";

  examined_.server = "locks.example:7600";
  ExpectOne(Severity::kWarning, "tls", "plain text");
}

TEST_F(DoctorTest, DaemonThatDrainsOrDoesNotServeIsTold) {
  info().set_draining(true);
  examined_.is_serving = false;
  ExpectOne(Severity::kWarning, "ready", "about to stop");

  info().set_draining(false);
  ExpectOne(Severity::kError, "ready", "does not serve: look at its log");

  store().set_problem("away");  // As a daemon tells it that knows no other problem.
  ExpectOne(Severity::kError, "ready", "does not serve: away");

  info().set_problem("stuck: the loop");
  ExpectOne(Severity::kError, "ready", "does not serve: stuck: the loop");
}

TEST_F(DoctorTest, MissingRightIsAWarningAndRejectedCredentialsAnError) {
  examined_.told = absl::PermissionDeniedError("no right");
  ExpectOne(Severity::kWarning, "rights", "`admin`");

  examined_.told = absl::UnauthenticatedError("the token is unknown");
  ExpectOne(Severity::kError, "rights", "the token is unknown");
}

TEST_F(DoctorTest, OtherVersionIsAWarning) {
  info().set_version("1.1.0");
  ExpectOne(Severity::kWarning, "version", "1.1.0");
}

TEST_F(DoctorTest, ClockIsJudgedByWhatTheCallLeavesOpen) {
  examined_.answered = absl::FromUnixSeconds(kNow + 5);
  info().mutable_current_time()->set_seconds(kNow + 4);
  EXPECT_THAT(Wrong(Judge(examined_, kVersion)), IsEmpty()) << "the call took as long";

  info().mutable_current_time()->set_seconds(kNow + 7);
  ExpectOne(Severity::kWarning, "clock", "2s ahead of this host's");

  info().mutable_current_time()->set_seconds(kNow - 2);
  ExpectOne(Severity::kWarning, "clock", "2s behind this host's");

  info().mutable_current_time()->set_seconds(kNow - 40);
  ExpectOne(Severity::kError, "clock", "40s behind");
}

TEST_F(DoctorTest, ClockOfTheStoreIsJudgedToo) {
  store().mutable_clock_ahead()->set_seconds(-90);
  ExpectOne(Severity::kWarning, "store_clock", "1m30s behind the daemon's");

  store().clear_clock_ahead();
  EXPECT_THAT(Wrong(Judge(examined_, kVersion)), IsEmpty()) << "not known";
}

TEST_F(DoctorTest, StoreThatIsAwayIsAnError) {
  examined_.is_serving = true;  // For a moment longer.
  store().set_reachable(false);
  store().set_problem("connection refused");
  ExpectOne(Severity::kError, "store", "connection refused");
}

TEST_F(DoctorTest, QuarantineIsAWarningWithItsEnd) {
  store().set_epoch(4);
  store().set_grant_problem("quarantined for another 30.0 s: Redis was emptied");
  store().set_last_loss_detail("Redis was emptied");
  store().mutable_quarantine_left()->set_seconds(30);
  ExpectOne(Severity::kWarning, "quarantine", "another 30s: Redis was emptied");
  ExpectOne(Severity::kWarning, "quarantine",
            "end-quarantine --epoch 4 --reason TEXT --accept-two-holders");

  store().mutable_quarantine_left()->set_seconds(0);
  store().clear_grant_problem();
  EXPECT_THAT(Wrong(Judge(examined_, kVersion)), IsEmpty()) << "it is over";
}

TEST_F(DoctorTest, SettingOfTheStoreThatForbidsGrantsIsAnError) {
  store().set_grant_problem("nothing new is granted: the store may evict locks");
  ExpectOne(Severity::kError, "store", "may evict locks");
}

TEST_F(DoctorTest, SettingThatForbidsGrantsIsNamedDuringAQuarantine) {
  store().mutable_quarantine_left()->set_seconds(30);
  store().set_grant_problem("nothing new is granted: the store may evict locks");

  const auto findings = Judge(examined_, kVersion);
  EXPECT_THAT(Wrong(findings), ElementsAre(testing::Field(&Finding::check, "quarantine"),
                                           testing::Field(&Finding::text, HasSubstr("may evict"))));
  EXPECT_THAT(findings, Not(Contains(AllOf(testing::Field(&Finding::check, "store"),
                                           testing::Field(&Finding::severity, Severity::kOk)))));
}

TEST_F(DoctorTest, SlowStoreIsAWarning) {
  store().mutable_latency()->set_nanos(99'000'000);
  EXPECT_THAT(Wrong(Judge(examined_, kVersion)), IsEmpty());

  store().mutable_latency()->set_nanos(100'000'000);
  ExpectOne(Severity::kWarning, "store_latency", "100000 us");
}

TEST_F(DoctorTest, NoteIsAWarningOnlyIfASettingGivesSomethingUp) {
  store().add_notes("Redis answers before a grant is on its disk");
  EXPECT_THAT(Wrong(Judge(examined_, kVersion)), IsEmpty());

  store().mutable_settings()->insert({"store.quarantine", "off"});
  store().add_notes("store.quarantine is off: a loss of Redis is logged");
  ExpectOne(Severity::kWarning, "settings", "store.quarantine is off");
}

TEST_F(DoctorTest, CertificateIsJudgedByItsEnd) {
  auto* end = info().add_certificates();
  end->set_name("server");
  end->mutable_expire_time()->set_seconds(kNow + 14 * kDay);
  EXPECT_THAT(Wrong(Judge(examined_, kVersion)), IsEmpty());

  end->mutable_expire_time()->set_seconds(kNow + 14 * kDay - 1);
  ExpectOne(Severity::kWarning, "certificate", "expires in 13d23h");

  end->mutable_expire_time()->set_seconds(kNow);
  ExpectOne(Severity::kError, "certificate", "has expired");
}

TEST_F(DoctorTest, OpenDaemonWithoutAPolicyIsAWarning) {
  info().add_grpc_addresses("tls://0.0.0.0:7601");
  ExpectOne(Severity::kWarning, "policy", "everybody");

  info().mutable_policy()->set_restricts(true);
  EXPECT_THAT(Wrong(Judge(examined_, kVersion)), IsEmpty());
}

TEST_F(DoctorTest, FilesThatCannotBeReadAgainAreAWarning) {
  auto* refused = info().add_refused_files();
  refused->set_files("access");
  refused->set_problem("policy.yaml:3: no such verb");
  ExpectOne(Severity::kWarning, "files", "policy.yaml:3");
}

TEST_F(DoctorTest, SettingsThatWaitForARestartAreAWarning) {
  admin::v1::ConfigFile& file = *info().mutable_config_file();
  file.set_path("/etc/lockkeeper.yaml");
  file.set_in_use(true);
  EXPECT_THAT(Judge(examined_, kVersion),
              Contains(AllOf(testing::Field(&Finding::check, "restart"),
                             testing::Field(&Finding::severity, Severity::kOk))));

  file.add_needs_restart("store.connections");
  file.add_needs_restart("server.listen");
  ExpectOne(Severity::kWarning, "restart", "/etc/lockkeeper.yaml");
  ExpectOne(Severity::kWarning, "restart", ": store.connections, server.listen");

  info().clear_config_file();
  EXPECT_THAT(Judge(examined_, kVersion), Not(Contains(testing::Field(&Finding::check, "restart"))))
      << "it was started without one";
}

TEST_F(DoctorTest, RefusedConfigurationFileIsToldBeforeARestart) {
  admin::v1::ConfigFile& file = *info().mutable_config_file();
  file.set_problem("lockkeeper.yaml:1: no such setting");
  file.add_needs_restart("store.connections");

  ExpectOne(Severity::kWarning, "files", "files of config cannot be used");
  ExpectOne(Severity::kWarning, "files", "lockkeeper.yaml:1");
  EXPECT_EQ(ReportOf(Judge(examined_, kVersion)).exit_code, 1);
  auto* refused = info().add_refused_files();
  refused->set_files("config");
  refused->set_problem(file.problem());
  ExpectOne(Severity::kWarning, "files", "lockkeeper.yaml:1");
  EXPECT_THAT(
      Judge(examined_, kVersion),
      Contains(AllOf(testing::Field(&Finding::check, "restart"),
                     testing::Field(&Finding::severity, Severity::kNote),
                     testing::Field(&Finding::text, AllOf(HasSubstr("refused (see `files`)"),
                                                          Not(HasSubstr("store.connections")))))));
}

TEST_F(DoctorTest, AuditRecordsThatCannotBeWritten) {
  info().set_audit_problem("Audit records cannot be written: No space left on device");
  ExpectOne(Severity::kError, "audit", "No space left on device");
}

TEST_F(DoctorTest, ServersAreComparedWithEachOther) {
  const auto compare = [](const std::function<void(Examination&)>& spoil) {
    std::vector<Examination> both = {Well("a:1"), Well("b:1")};
    spoil(both[1]);
    return Wrong(Compare(both));
  };
  EXPECT_THAT(compare([](Examination&) {}), IsEmpty());
  EXPECT_THAT(Compare({Well()}), IsEmpty()) << "there is nobody to compare with";

  const auto one = [](Severity severity, const std::string& part) {
    return ElementsAre(AllOf(testing::Field(&Finding::severity, severity),
                             testing::Field(&Finding::check, "servers"),
                             testing::Field(&Finding::text, HasSubstr(part))));
  };
  EXPECT_THAT(compare([](Examination& b) {
                (*b.info.mutable_store()->mutable_settings())["store.key_prefix"] = "x:";
              }),
              one(Severity::kError, "lk: (a:1), x: (b:1)"));
  EXPECT_THAT(compare([](Examination& b) { b.info.mutable_store()->set_kind("embedded"); }),
              one(Severity::kError, "embedded"));
  EXPECT_THAT(compare([](Examination& b) {
                b.info.mutable_store()->set_id("9c1f0a6be2d94711");
                b.info.mutable_store()->set_epoch(2);
              }),
              one(Severity::kError, "5e050c7dcb0aeec3 (a:1), 9c1f0a6be2d94711 (b:1)"));
  EXPECT_THAT(compare([](Examination& b) { b.info.mutable_store()->set_run_id("5541"); }),
              one(Severity::kError, "5541 (b:1); unless Redis was replaced"))
      << "a copy of the store";
  EXPECT_THAT(compare([](Examination& b) { b.info.mutable_store()->set_address("other:6379"); }),
              IsEmpty())
      << "a store may have many addresses";
  EXPECT_THAT(compare([](Examination& b) { b.info.mutable_store()->set_epoch(2); }),
              one(Severity::kWarning, "epoch 2 (b:1)"));
  EXPECT_THAT(compare([](Examination& b) { b.info.mutable_store()->clear_epoch(); }), IsEmpty())
      << "it has not reached the store yet";
  EXPECT_THAT(compare([](Examination& b) { b.info.set_version("1.1.0"); }),
              one(Severity::kWarning, "1.1.0 (b:1)"));
  EXPECT_THAT(compare([](Examination& b) { b.info.mutable_max_ttl()->set_seconds(30); }),
              one(Severity::kWarning, "lease.max_ttl"));
  EXPECT_THAT(compare([](Examination& b) { b.reached = absl::UnavailableError("away"); }),
              IsEmpty());
}

TEST_F(DoctorTest, SaysThatServersUseOneStoreOnlyIfAllOfThemKnowTheirs) {
  EXPECT_THAT(Compare({Well("a:1"), Well("b:1")})[0].text, HasSubstr("they use one store"));
  Examination early = Well("b:1");
  early.info.mutable_store()->clear_id();
  early.info.mutable_store()->clear_run_id();
  EXPECT_THAT(Compare({Well("a:1"), early})[0].text,
              HasSubstr("whether they use one store is not known"));
}

TEST_F(DoctorTest, ExitCodeIsThatOfTheWorst) {
  const auto code_of = [](const std::vector<Severity>& severities) {
    std::vector<Finding> findings;
    findings.reserve(severities.size());
    for (const Severity each : severities) findings.push_back({each, "s", "c", "t"});
    return ReportOf(findings).exit_code;
  };
  EXPECT_EQ(code_of({Severity::kOk, Severity::kNote}), 0);
  EXPECT_EQ(code_of({Severity::kWarning, Severity::kOk}), 1);
  EXPECT_EQ(code_of({Severity::kError, Severity::kWarning}), 2);
}

}  // namespace
}  // namespace lockkeeper::cli
