// SPDX-License-Identifier: Apache-2.0
//
// Every command against a real daemon, as text and as JSON, with its exit code. What a daemon can
// hardly be brought to answer is in lock_commands_test.cc.
#include <gmock/gmock.h>
#include <csignal>

#include "integration/cli/daemon_fixture.h"

namespace lockkeeper {
namespace {

using support::CliResult;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

constexpr char kNobodysId[] = "ffffffffffffffffffffffffffffffff";

TEST_F(CliDaemonTest, AcquireGrants) {
  const CliResult result =
      RunJson({"acquire", "report", "--ttl", "40s", "--owner", "me", "--label", "job=7",
               "--lock-delay", "2s", "--max-hold", "1h", "--hold-at-least", "2h"});

  EXPECT_EQ(result.exit_code, 0);
  const Json json(result);
  EXPECT_EQ(json.Text("outcome"), "granted");
  EXPECT_EQ(json.Text("name"), "report");
  EXPECT_EQ(json.Text("lease_id").size(), 32u);
  EXPECT_GT(json.Number("fencing_token"), 0);
  EXPECT_EQ(json.Number("ttl_ms"), 40'000);
  EXPECT_GT(json.Number("remaining_ttl_ms"), 0);
  EXPECT_EQ(json.Number("waited_ms"), 0);
  EXPECT_FALSE(json.Flag("previous_lease_expired"));
  const admin::v1::Lock lock = Look("report");
  EXPECT_EQ(lock.state(), admin::v1::LOCK_STATE_HELD);
  EXPECT_EQ(lock.owner(), "me");
  EXPECT_EQ(lock.labels().at("job"), "7");
  EXPECT_EQ(lock.lock_delay().seconds(), 2);
  EXPECT_EQ(lock.max_hold().seconds(), 3600);
  EXPECT_EQ(lock.hold_at_least().seconds(), 7200);

  const CliResult text = Run({"acquire", "other"});
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_THAT(text.out, HasSubstr("acquired `other`\n  lease id       "));
  EXPECT_THAT(text.out, HasSubstr("\n  fencing token  "));
}

TEST_F(CliDaemonTest, ShellEvaluatesWhatAcquirePrints) {
  const std::string name = "it's $(touch /) \"odd\"";

  const CliResult result = Run({"acquire", name, "--output", "shell"});
  const CliResult evaluated = support::RunCli(
      "/bin/sh", "",
      {"-c", result.out + "printf '%s|%s|%s' \"$LOCKKEEPER_LOCK\" \"$LOCKKEEPER_LEASE_ID\" "
                          "\"$LOCKKEEPER_FENCING_TOKEN\""});

  EXPECT_EQ(result.exit_code, 0);
  const admin::v1::Lock lock = Look(name);
  EXPECT_THAT(evaluated.out,
              MatchesRegex(".*\\|[0-9a-f]{32}\\|" + std::to_string(lock.fencing_token())));
  EXPECT_THAT(evaluated.out, testing::StartsWith(name + "|"));
}

TEST_F(CliDaemonTest, ShellThatEvaluatesAFailureFails) {
  Hold("report");

  const CliResult contention = Run({"acquire", "report", "--output", "shell"});
  const CliResult usage = Run({"acquire", "--output", "shell"});

  EXPECT_EQ(contention.exit_code, 75);
  EXPECT_EQ(contention.out, "(exit 75)\n");
  EXPECT_THAT(contention.err, HasSubstr("`report` is held"));
  EXPECT_EQ(usage.out, "(exit 64)\n");
}

TEST_F(CliDaemonTest, AcquireOfALockThatSomebodyHasIs75) {
  ASSERT_EQ(Run({"acquire", "report", "--owner", "alice"}).exit_code, 0);

  const CliResult json_result = RunJson({"acquire", "report"});
  const CliResult text = Run({"acquire", "report"});

  EXPECT_EQ(json_result.exit_code, 75);
  const Json json(json_result);
  EXPECT_EQ(json.Text("outcome"), "contention");
  EXPECT_EQ(json.Text("reason"), "HELD");
  EXPECT_EQ(json.Text("holder_owner"), "alice");
  EXPECT_GT(json.Number("remaining_ttl_ms"), 0);
  EXPECT_TRUE(json.Has("waiters"));
  EXPECT_FALSE(json.Has("lease_id"));
  EXPECT_EQ(text.exit_code, 75);
  EXPECT_THAT(text.out, HasSubstr("`report` is held by `alice`"));
}

TEST_F(CliDaemonTest, ClosedLockIsNotCalledHeld) {
  Hold("report");
  ASSERT_EQ(Run({"force-release", "report", "--reason", "test"}).exit_code, 0);

  const CliResult json_result = RunJson({"acquire", "report"});
  const CliResult text = Run({"acquire", "report"});
  const CliResult opened = RunJson({"force-release", "report", "--reason", "test", "--now"});

  EXPECT_EQ(json_result.exit_code, 75);
  EXPECT_EQ(Json(json_result).Text("reason"), "CLOSED");
  EXPECT_EQ(Json(json_result).Text("holder_owner"), "");
  EXPECT_EQ(text.exit_code, 75);
  EXPECT_THAT(text.out,
              HasSubstr("nobody holds `report`, but it is closed after its last lease, for "
                        "at most another "));
  EXPECT_THAT(text.out, Not(HasSubstr("extends")));
  EXPECT_TRUE(Json(opened).Flag("opened"));
  EXPECT_EQ(Json(opened).Text("holder_owner"), "");
}

TEST_F(CliDaemonTest, AcquireWithALeaseIdMayBeRepeatedUntilItIsReleased) {
  const std::string id = "0123456789abcdef0123456789abcdef";
  const Json first(RunJson({"acquire", "report", "--lease-id", id}));
  const Json again(RunJson({"acquire", "report", "--lease-id", id}));
  EXPECT_EQ(again.Text("outcome"), "granted");
  EXPECT_EQ(again.Number("fencing_token"), first.Number("fencing_token"));
  ASSERT_EQ(Run({"release", "report", id}).exit_code, 0);

  const CliResult used_up = RunJson({"acquire", "report", "--lease-id", id});

  EXPECT_EQ(used_up.exit_code, 1);
  EXPECT_EQ(Json(used_up).Text("reason"), "LEASE_ENDED");
}

TEST_F(CliDaemonTest, LeaseThatExpiredIsToldToTheNextHolderAndToItsOwn) {
  const std::string id = Hold("report", "2s");
  ASSERT_TRUE(
      support::WaitUntil([&] { return Look("report").state() != admin::v1::LOCK_STATE_HELD; }));

  const CliResult extended = RunJson({"extend", "report", id});
  const CliResult released = RunJson({"release", "report", id});
  const CliResult next = RunJson({"acquire", "report"});

  EXPECT_EQ(extended.exit_code, 70);
  EXPECT_EQ(Json(extended).Text("outcome"), "lease_lost");
  EXPECT_EQ(Json(extended).Text("reason"), "LEASE_LOST");
  EXPECT_EQ(released.exit_code, 76);
  EXPECT_EQ(Json(released).Text("outcome"), "not_released");
  EXPECT_EQ(Json(released).Text("reason"), "EXPIRED");
  EXPECT_TRUE(Json(next).Flag("previous_lease_expired"));
}

TEST_F(CliDaemonTest, ExtendKeepsTheLease) {
  const std::string id = Hold("report", "10s");

  const CliResult result = RunJson({"extend", "report", id, "--ttl", "50s"});
  const CliResult text = Run({"extend", "report", id});

  EXPECT_EQ(result.exit_code, 0);
  const Json json(result);
  EXPECT_EQ(json.Text("outcome"), "extended");
  EXPECT_EQ(json.Text("lease_id"), id);
  EXPECT_GT(json.Number("fencing_token"), 0);
  EXPECT_GT(json.Number("remaining_ttl_ms"), 10'000);
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_THAT(text.out, HasSubstr("extended `report`"));
  EXPECT_EQ(Run({"extend", "report", kNobodysId}).exit_code, 70);
}

TEST_F(CliDaemonTest, ReleaseFreesTheLockAndMayBeRepeated) {
  const std::string id = Hold("report");

  const CliResult result = RunJson({"release", "report", id});
  const CliResult again = Run({"release", "report", id});
  const CliResult not_holder = RunJson({"release", "report", kNobodysId});

  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(Json(result).Text("outcome"), "released");
  EXPECT_EQ(again.exit_code, 0);
  EXPECT_EQ(again.out, "released `report`\n");
  EXPECT_EQ(not_holder.exit_code, 76);
  EXPECT_EQ(Json(not_holder).Text("reason"), "NOT_HOLDER");
  EXPECT_EQ(Run({"acquire", "report"}).exit_code, 0);
}

TEST_F(CliDaemonTest, FenceSaysTheVerdict) {
  const Json first(RunJson({"acquire", "report"}));
  const std::string stale = std::to_string(first.Number("fencing_token"));
  ASSERT_EQ(Run({"release", "report", first.Text("lease_id")}).exit_code, 0);
  const Json second(RunJson({"acquire", "report"}));
  const std::string newest = std::to_string(second.Number("fencing_token"));

  const CliResult admitted = RunJson({"fence", "report", newest, "--require-live-lease"});
  EXPECT_EQ(admitted.exit_code, 0);
  EXPECT_EQ(Json(admitted).Text("outcome"), "admitted");
  EXPECT_EQ(Run({"fence", "report", newest}).exit_code, 0);

  const CliResult refused = RunJson({"fence", "report", stale});
  EXPECT_EQ(refused.exit_code, 76);
  EXPECT_EQ(Json(refused).Text("outcome"), "stale");
  EXPECT_EQ(Json(refused).Number("newest_fencing_token"), second.Number("fencing_token"));
  EXPECT_THAT(Run({"fence", "report", stale}).out, HasSubstr("is stale: " + newest));

  ASSERT_EQ(Run({"release", "report", second.Text("lease_id")}).exit_code, 0);
  const CliResult over = RunJson({"fence", "report", newest, "--require-live-lease"});
  EXPECT_EQ(over.exit_code, 76);
  EXPECT_EQ(Json(over).Text("outcome"), "expired");

  const CliResult unknown = RunJson({"fence", "nobody's", "1"});
  EXPECT_EQ(unknown.exit_code, 76);
  EXPECT_EQ(Json(unknown).Text("outcome"), "unknown_token");
}

// The job takes an instant on each of three replicas, whose clocks are not quite the same.
TEST_F(CliDaemonTest, JobThatIsDueOnceIsDoneByOneReplica) {
  for (int replica = 1; replica <= 3; ++replica) {
    const CliResult result =
        Run({"run", "nightly", "--hold-at-least", "1h", "--", "sh", "-c", "echo done"});
    EXPECT_EQ(result.out, replica == 1 ? "done\n" : "");
    EXPECT_EQ(result.exit_code == 0, replica == 1) << result.err;
  }

  const Json closed(RunJson({"get", "nightly"}));
  EXPECT_EQ(closed.Text("state"), "ended");
  EXPECT_EQ(closed.Text("last_end"), "released");
  EXPECT_GT(closed.Number("closed_for_ms"), 3'000'000);
  EXPECT_THAT(Run({"list"}).out, HasSubstr("nightly"));
  EXPECT_EQ(Json(RunJson({"acquire", "nightly"})).Text("reason"), "CLOSED");
  EXPECT_EQ(Run({"force-release", "nightly", "--reason", "again", "--now"}).exit_code, 0);
  EXPECT_EQ(Run({"run", "nightly", "--", "true"}).exit_code, 0);
}

TEST_F(CliDaemonTest, GetShowsOneLock) {
  ASSERT_EQ(
      Run({"acquire", "report", "--owner", "alice", "--label", "c=d", "--label", "a=b", "--label",
           "b=c", "--lock-delay", "2s", "--max-hold", "1h", "--hold-at-least", "2h"})
          .exit_code,
      0);

  const CliResult result = RunJson({"get", "report"});
  const CliResult text = Run({"get", "report"});
  const CliResult none = RunJson({"get", "nobody's"});

  EXPECT_EQ(result.exit_code, 0);
  const Json json(result);
  EXPECT_EQ(json.Text("outcome"), "found");
  EXPECT_EQ(json.Text("name"), "report");
  EXPECT_EQ(json.Text("state"), "held");
  EXPECT_EQ(json.Text("holder_owner"), "alice");
  EXPECT_EQ(json.Number("ttl_ms"), 30'000);
  EXPECT_TRUE(json.Has("acquire_time"));
  EXPECT_THAT(result.out, HasSubstr(R"("labels":{"a":"b","b":"c","c":"d"})"));
  EXPECT_FALSE(json.Has("lease_id")) << "a credential";
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_THAT(text.out, HasSubstr("`report` is held for another "));
  EXPECT_THAT(text.out, HasSubstr("\n  owner          alice\n"));
  EXPECT_THAT(text.out, HasSubstr("\n  labels         a=b b=c c=d\n  ttl            30s\n"
                                  "  lock delay     2s\n  max hold       1h\n"
                                  "  hold at least  2h\n"));
  EXPECT_EQ(json.Number("lock_delay_ms"), 2'000);
  EXPECT_EQ(json.Number("max_hold_ms"), 3'600'000);
  EXPECT_EQ(json.Number("hold_at_least_ms"), 7'200'000);
  ASSERT_EQ(Run({"force-release", "report", "--reason", "r", "--now"}).exit_code, 0);
  const std::string ended = Run({"get", "report"}).out;
  EXPECT_THAT(ended, HasSubstr("\n  last owner     alice\n"));
  EXPECT_THAT(ended, Not(HasSubstr("max hold")));
  EXPECT_EQ(none.exit_code, 76);
  EXPECT_EQ(Json(none).Text("outcome"), "not_found");
  EXPECT_EQ(Run({"get", "nobody's"}).exit_code, 76);
}

TEST_F(CliDaemonTest, IsHeldTellsByItsExitCode) {
  EXPECT_EQ(Run({"is-held", "report"}).exit_code, 76) << "it never was";
  const std::string id = Hold("report");
  const CliResult held = RunJson({"is-held", "report"});
  ASSERT_EQ(Run({"release", "report", id}).exit_code, 0);
  const CliResult released = RunJson({"is-held", "report"});
  Hold("report");
  ASSERT_EQ(Run({"force-release", "report", "--reason", "stuck"}).exit_code, 0);

  EXPECT_EQ(held.exit_code, 0);
  EXPECT_EQ(Json(held).Text("outcome"), "held");
  EXPECT_EQ(Json(held).Text("state"), "held");
  EXPECT_EQ(released.exit_code, 76);
  EXPECT_EQ(Json(released).Text("outcome"), "not_held");
  EXPECT_EQ(Run({"is-held", "report"}).exit_code, 76) << "closed, and nobody's";
}

TEST_F(CliDaemonTest, ContendedShowsWhichLocksWereWaitedFor) {
  const CliResult nothing = Run({"contended"});
  EXPECT_EQ(nothing.exit_code, 0);
  EXPECT_THAT(nothing.out, HasSubstr("no wait for a lock has ended\nin the last "));
  for (const char* name : {"app/one", "app/two"}) Hold(name);
  for (const char* name : {"app/one", "app/two", "app/one"}) {
    ASSERT_EQ(Run({"acquire", name, "--wait", "20ms"}).exit_code, 75);
  }

  const CliResult result = RunJson({"contended", "--prefix", "app/"});
  const CliResult text = Run({"contended", "--limit", "1"});

  EXPECT_EQ(result.exit_code, 0);
  const Json json(result);
  EXPECT_EQ(json.Text("outcome"), "listed");
  EXPECT_EQ(json.ItemsOf("locks"), 2);
  EXPECT_THAT(result.out, HasSubstr(R"({"name":"app/one","waits":2,"waited_ms":)"));
  EXPECT_FALSE(json.Flag("approximate"));
  EXPECT_EQ(json.Text("daemon_id").size(), 16U);
  EXPECT_THAT(text.out, HasSubstr("app/one: 2 waits, "));
  EXPECT_THAT(text.out, Not(HasSubstr("app/two")));
  EXPECT_EQ(Json(RunJson({"contended", "--prefix", "other/"})).ItemsOf("locks"), 0);
}

TEST_F(CliDaemonTest, HistoryShowsWhoHadTheLockBefore) {
  EXPECT_EQ(Run({"history", "job"}).exit_code, 76);
  ASSERT_EQ(Run({"acquire", "job", "--owner", "ada"}).exit_code, 0);
  ASSERT_EQ(Run({"force-release", "job", "--reason", "a test", "--now"}).exit_code, 0);
  ASSERT_EQ(Run({"acquire", "job", "--owner", "bob", "--ttl", "100ms"}).exit_code, 0);
  ASSERT_EQ(Run({"acquire", "job", "--owner", "cora", "--wait", "1m"}).exit_code, 0);

  const CliResult result = RunJson({"history", "job"});
  const CliResult text = Run({"history", "job"});

  EXPECT_EQ(result.exit_code, 0);
  const Json json(result);
  EXPECT_EQ(json.Text("outcome"), "found");
  EXPECT_EQ(json.Text("state"), "held");
  EXPECT_EQ(json.ItemsOf("history"), 2);
  EXPECT_THAT(result.out, HasSubstr(R"("owner":"ada"}])"));
  EXPECT_THAT(text.out, testing::ContainsRegex("job  held for .*owner cora\n"
                                               ".*Z  expired  token [0-9]+  owner bob\n"
                                               ".*Z  forced  token [0-9]+  owner ada\n"));
}

TEST_F(CliDaemonTest, ListShowsTheLocksThatAreHeld) {
  EXPECT_EQ(Json(RunJson({"list"})).ItemsOf("locks"), 0);
  for (const char* name : {"app/one", "app/two", "other"}) Hold(name);

  const CliResult all = RunJson({"list"});
  EXPECT_EQ(all.exit_code, 0);
  EXPECT_EQ(Json(all).Text("outcome"), "listed");
  EXPECT_EQ(Json(all).ItemsOf("locks"), 3);
  EXPECT_FALSE(Json(all).Flag("more"));
  EXPECT_EQ(Json(RunJson({"list", "--prefix", "app/"})).ItemsOf("locks"), 2);
  const Json limited(RunJson({"list", "--limit", "1"}));
  EXPECT_EQ(limited.ItemsOf("locks"), 1);
  EXPECT_TRUE(limited.Flag("more"));
  const CliResult text = Run({"list", "--prefix", "oth"});
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_THAT(text.out, HasSubstr("other  held for another "));
}

TEST_F(CliDaemonTest, ForceReleaseEndsTheLeaseOfSomebodyElse) {
  const std::string id = Hold("report");

  const CliResult result = RunJson({"force-release", "report", "--reason", "stuck"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(Json(result).Text("outcome"), "force_released");
  EXPECT_GT(Json(result).Number("closed_for_ms"), 0);
  EXPECT_EQ(Run({"extend", "report", id}).exit_code, 70);
  EXPECT_EQ(Run({"acquire", "report"}).exit_code, 75) << "closed while its holder may still work";

  const CliResult closed = RunJson({"force-release", "report", "--reason", "once more"});
  EXPECT_EQ(closed.exit_code, 76);
  EXPECT_EQ(Json(closed).Text("reason"), "NOT_HELD");
  EXPECT_GT(Json(closed).Number("closed_for_ms"), 0);
  EXPECT_THAT(Json(closed).Text("message"), HasSubstr(", and --now opens it"));

  const CliResult now = RunJson({"force-release", "report", "--reason", "it is gone", "--now"});
  EXPECT_EQ(Json(now).Number("closed_for_ms"), 0) << now.out;
  EXPECT_EQ(Run({"acquire", "report"}).exit_code, 0);

  const CliResult none = RunJson({"force-release", "nobody's", "--reason", "r"});
  EXPECT_EQ(none.exit_code, 76);
  EXPECT_EQ(Json(none).Text("reason"), "NOT_HELD");
  EXPECT_EQ(Json(none).Number("closed_for_ms"), 0);
  EXPECT_EQ(Json(none).Text("message"), "`nobody's` has no live lease");
}

TEST_F(CliDaemonTest, HealthSaysWhetherTheDaemonServes) {
  const CliResult serving = RunJson({"health"});
  EXPECT_EQ(serving.exit_code, 0);
  EXPECT_EQ(Json(serving).Text("outcome"), "serving");
  EXPECT_TRUE(Json(serving).Flag("store_reachable"));
  EXPECT_FALSE(Json(serving).Flag("draining"));
  EXPECT_THAT(Run({"health"}).out, MatchesRegex("serving\n  daemon         0\\.[^ ]*\n.*"));
  EXPECT_GT(Json(serving).ItemsOf("notes"), 0);
  EXPECT_THAT(Run({"health"}).out,
              HasSubstr("\n  note           Redis answers before a grant is on"));

  EXPECT_TRUE(Json(serving).Flag("granting"));

  // A lease of a minute, the longest: the quarantine is as long.
  ASSERT_EQ(Run({"acquire", "report", "--ttl", "60s"}).exit_code, 0);
  redis_.Run({"FLUSHALL"});
  CliResult quarantined;
  ASSERT_TRUE(support::WaitUntil(
      [&] { return !Json(quarantined = RunJson({"health"})).Flag("granting"); }));
  EXPECT_EQ(quarantined.exit_code, 0) << "holders have to reach it";
  EXPECT_EQ(Json(quarantined).Text("outcome"), "serving");
  EXPECT_EQ(Json(quarantined).Text("last_loss"), "emptied");
  EXPECT_THAT(Run({"health"}).out, testing::StartsWith("serving: quarantined for another "));

  redis_.Kill();
  CliResult away;
  ASSERT_TRUE(support::WaitUntil([&] { return (away = RunJson({"health"})).exit_code != 0; }));
  EXPECT_EQ(away.exit_code, 69);
  EXPECT_EQ(Json(away).Text("outcome"), "not_serving");
  EXPECT_FALSE(Json(away).Flag("store_reachable"));
  EXPECT_THAT(Json(away).Text("message"), testing::StartsWith("store away: "));
}

TEST_F(CliDaemonTest, StoreThatIsAwayIs69) {
  const std::string id = Hold("report");
  redis_.Kill();

  for (const Words& words :
       {Words{"extend", "report", id}, Words{"fence", "report", "1"}, Words{"get", "report"}}) {
    const CliResult result = RunJson(words);
    EXPECT_EQ(result.exit_code, 69) << result.out;
    EXPECT_EQ(Json(result).Text("outcome"), "error");
    EXPECT_THAT(Json(result).Text("reason"),
                testing::AnyOf("STORE_UNAVAILABLE", "OUTCOME_UNKNOWN"));
  }
}

TEST_F(CliDaemonTest, FieldBeyondItsLimitIs65AndNamed) {
  struct Case {
    Words words;
    std::string field;
  };
  for (const Case& each :
       {Case{{"acquire", "report", "--ttl", "1ms"}, "ttl"},
        Case{{"acquire", "report", "--wait", "25h"}, "wait_timeout"},
        Case{{"acquire", "report", "--lease-id", "short"}, "lease_id"},
        Case{{"acquire", "a{b}"}, "name"}, Case{{"release", "report", "short"}, "lease_id"},
        Case{{"fence", "report", "0"}, "fencing_token"}, Case{{"get", "a{b}"}, "name"}}) {
    const CliResult result = RunJson(each.words);
    EXPECT_EQ(result.exit_code, 65) << result.out;
    EXPECT_EQ(Json(result).Text("reason"), "INVALID_FIELD");
    EXPECT_EQ(Json(result).Text("field"), each.field) << result.out;
  }
}

}  // namespace
}  // namespace lockkeeper
