// SPDX-License-Identifier: Apache-2.0
//
// backup-check against a real daemon, whose Redis loses something, or nothing.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <csignal>
#include <fstream>
#include <memory>
#include <string>

#include "daemon_fixture.h"

namespace lockkeeper {
namespace {

using support::CliResult;
using testing::AllOf;
using testing::HasSubstr;

class BackupCheckCliTest : public CliDaemonTest {
 protected:
  // The daemon looks at the clock of its store once a second.
  BackupCheckCliTest() {
    EXPECT_TRUE(support::WaitUntil(
        [&] { return Json(RunJson({"info"})).Object("store").Has("clock_ahead_ms"); }));
  }

  CliResult Save() const { return RunJson({"backup-check", "--save", file_}); }
  CliResult Since() const { return RunJson({"backup-check", "--since", file_}); }

  // What is said of `check`: "error: ...".
  static std::string Said(const CliResult& result, const std::string& check) {
    const Json json(result);
    for (int i = 0; i < json.ItemsOf("findings"); ++i) {
      const Json finding = json.Item("findings", i);
      if (finding.Text("check") != check) continue;
      return finding.Text("severity") + ": " + finding.Text("message");
    }
    return "";
  }

  support::TemporaryDirectory directory_;
  const std::string file_ = directory_.Path("store.txt");
};

TEST_F(BackupCheckCliTest, TellsWhatARestartAndABackupAreWorth) {
  Hold("n");

  const CliResult result = RunJson({"backup-check"});

  EXPECT_EQ(result.exit_code, 1) << "this Redis keeps nothing";
  EXPECT_EQ(Json(result).Text("outcome"), "warnings");
  EXPECT_THAT(Said(result, "durable"), HasSubstr("warning: grants are in the memory"));
  EXPECT_THAT(Said(result, "leases"), HasSubstr("ok: 1 lease is live"));
  EXPECT_EQ(Json(result).Number("store_epoch"), 1);
  EXPECT_EQ(Json(result).Number("records"), 1);
  EXPECT_THAT(Run({"backup-check"}).out, HasSubstr("\n  ok      leases: 1 lease is live"));
}

TEST_F(BackupCheckCliTest, StoreThatHasLostNothingIsTheSame) {
  Hold("n");
  Hold("a name with spaces");
  ASSERT_EQ(Save().exit_code, 1) << "it keeps nothing, but is written down all the same";
  struct stat status{};
  ASSERT_EQ(stat(file_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);

  const CliResult result = Since();

  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(Said(result, "epoch"), HasSubstr("ok: still 1"));
  EXPECT_THAT(Said(result, "records"), HasSubstr("ok: nothing of the file is missing or older: 2"));
}

// As a restored store looks to a daemon that did not know it before.
TEST_F(BackupCheckCliTest, StoreThatWasSetBackWithoutADaemonIsAnError) {
  const std::string before = redis_.Run({"DUMP", "lk:store"}).text;
  Hold("n");
  Save();
  daemon_->Signal(SIGTERM);
  ASSERT_EQ(daemon_->ExitCode(), 0);
  redis_.Run({"FLUSHALL"});
  redis_.Run({"RESTORE", "lk:store", "0", before});
  daemon_ = StartDaemon();
  ASSERT_TRUE(support::WaitUntil(
      [&] { return Json(RunJson({"info"})).Object("store").Has("clock_ahead_ms"); }));

  const CliResult result = Since();

  EXPECT_EQ(result.exit_code, 2) << result.out;
  EXPECT_EQ(Json(result).Text("outcome"), "errors");
  EXPECT_THAT(Said(result, "records"), AllOf(HasSubstr("error: 1 lock, such as `n`: gone"),
                                             HasSubstr("no daemon has noticed it")));
}

TEST_F(BackupCheckCliTest, LossThatTheDaemonHasNoticedIsANote) {
  Hold("n");
  Save();
  redis_.Run({"FLUSHALL"});
  ASSERT_TRUE(support::WaitUntil(
      [&] { return Json(RunJson({"info"})).Object("store").Number("epoch") == 2; }));

  const CliResult result = Since();

  EXPECT_EQ(result.exit_code, 1) << "the quarantine is a warning";
  EXPECT_THAT(Said(result, "epoch"), HasSubstr("note: it was 1 and is 2"));
  EXPECT_THAT(Said(result, "records"), HasSubstr("note: 1 lock, such as `n`: gone"));
  EXPECT_THAT(Said(result, "quarantine"), HasSubstr("warning: nothing new is granted"));
}

TEST_F(BackupCheckCliTest, FileThatIsNoneIsAMistakeInTheCommandLine) {
  std::ofstream(file_) << "something else\n";

  CliResult result = Since();
  EXPECT_EQ(result.exit_code, 64);
  EXPECT_THAT(Json(result).Text("message"), HasSubstr("--since: this is no file of"));

  result = RunJson({"backup-check", "--since", directory_.Path("none")});
  EXPECT_EQ(result.exit_code, 64);

  result = RunJson({"backup-check", "--save", directory_.Path("none/file")});
  EXPECT_EQ(result.exit_code, 64);
  EXPECT_THAT(Json(result).Text("message"), HasSubstr("--save: cannot write the file"));
}

TEST_F(BackupCheckCliTest, StoreThatIsAwayCannotBeLookedAt) {
  redis_.Kill();
  ASSERT_TRUE(support::WaitUntil(
      [&] { return !Json(RunJson({"info"})).Object("store").Flag("reachable"); }));

  const CliResult result = RunJson({"backup-check"});

  EXPECT_EQ(result.exit_code, 69);
  EXPECT_THAT(Json(result).Text("message"), HasSubstr("the store is away: redis "));
}

}  // namespace
}  // namespace lockkeeper
