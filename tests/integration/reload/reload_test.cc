// SPDX-License-Identifier: Apache-2.0
// Settings of the configuration file that change while the daemon runs.
#include <gmock/gmock.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "integration/daemon/fixture.h"
#include "support/process/cli_process.h"
#include "support/rpc/lock_requests.h"

namespace lockkeeper {
namespace {

namespace fs = std::filesystem;
using support::AcquireOf;
using support::ExtendOf;
using support::LockClient;
using support::RedisServer;
using support::ReleaseOf;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class ReloadTest : public DaemonTest {
 protected:
  std::string File() const { return directory_.Path("lockkeeper.yaml"); }

  void Write(const std::string& text) const { directory_.Replace("lockkeeper.yaml", text); }

  void StartWith(const std::string& text, const Environment& environment = {}) {
    Write(text);
    daemon_ = Start({"--redis", redis_.url(), "--config", File()}, environment);
  }

  LockClient Client() const { return LockClient(daemon_->GrpcAddress()); }
  admin::v1::GetServerInfoResponse Info() const { return Client().GetServerInfo().response; }
  // The value of a metric, of one digit.
  std::string Value(const std::string& metric) const {
    const std::string metrics = Get(*daemon_, "/metrics").body;
    const size_t at = metrics.find("\n" + metric + " ");
    return at == std::string::npos ? "none" : metrics.substr(at + metric.size() + 2, 1);
  }
  std::string Metric(const std::string& outcome) const {
    return Value(R"(lockkeeper_file_reload_total{files="config",outcome=")" + outcome + "\"}");
  }
  std::string IsRefused() const { return Value(R"(lockkeeper_files_refused{files="config"})"); }

  // The ttl that a lock gets whose client asks for none.
  int64_t DefaultTtl(const std::string& name) const {
    v1::AcquireRequest request = AcquireOf(name);
    request.clear_ttl();
    const auto answer = Client().Acquire(request);
    EXPECT_TRUE(answer.response.has_lease()) << answer.status.error_message();
    return answer.response.lease().ttl().seconds();
  }

  // What the marker of the store says of the longest lease.
  std::chrono::milliseconds Ceiling() const {
    return std::chrono::milliseconds(
        std::stoll(redis_.Run({"GET", "lk:store"}).text.substr(71, 8)));
  }

  RedisServer redis_;
  std::unique_ptr<support::DaemonProcess> daemon_;
};

TEST_F(ReloadTest, ChangedSettingsCountForTheNextAcquire) {
  StartWith("lease: {default_ttl: 10s}\n");
  LockClient client = Client();
  EXPECT_EQ(DefaultTtl("a"), 10);
  EXPECT_EQ(client.Acquire(AcquireOf("b", "", std::chrono::seconds(61))).field, "ttl");
  const int64_t started = Info().config_file().read_time().seconds();

  Write(
      "lease: {default_ttl: 20s, max_ttl: 2m, by_prefix: ['jobs/ default_ttl=90s']}\n"
      "waiters: {max_wait: 5s, per_lock_max: 7, per_principal_max: 8, slow_wait: 1ms}\n"
      "log: {level: debug}\n");
  daemon_->WaitForLog("event=files.reloaded");

  EXPECT_THAT(
      daemon_->Stderr(),
      AllOf(HasSubstr("event=config.changed"),
            HasSubstr("setting=lease.default_ttl before=10s after=20s"),
            HasSubstr("setting=lease.max_ttl before=1m after=2m"),
            HasSubstr("setting=lease.by_prefix before=\"\" after=\"jobs/ default_ttl=90s\""),
            HasSubstr("setting=waiters.max_wait before=24h after=5s"),
            HasSubstr("setting=waiters.per_lock_max before=20000 after=7"),
            HasSubstr("setting=waiters.per_principal_max before=50000 after=8"),
            HasSubstr("setting=waiters.slow_wait before=10s after=1ms"),
            HasSubstr("setting=log.level before=info after=debug")));
  EXPECT_EQ(Metric("used"), "1");
  EXPECT_EQ(DefaultTtl("c"), 20);
  EXPECT_EQ(DefaultTtl("jobs/1"), 90);
  EXPECT_TRUE(client.Acquire(AcquireOf("d", "", std::chrono::minutes(2))).response.has_lease());
  v1::AcquireRequest waits = AcquireOf("d");
  waits.mutable_wait_timeout()->set_seconds(6);
  EXPECT_THAT(client.Acquire(waits).status.error_message(), HasSubstr("waiters.max_wait"));
  daemon_->WaitForLog("event=rpc.answered");

  const admin::v1::GetServerInfoResponse info = Info();
  EXPECT_EQ(info.max_ttl().seconds(), 120);
  EXPECT_EQ(info.config_file().path(), File());
  EXPECT_TRUE(info.config_file().in_use());
  EXPECT_GE(info.config_file().read_time().seconds(), started);
  EXPECT_THAT(info.config_file().needs_restart(), IsEmpty());
}

// The bounds of waiters are used on the loop, where acquires that waited before stay.
TEST_F(ReloadTest, ChangedBoundsOfWaitersCountForTheNextWaiter) {
  StartWith("waiters: {per_lock_max: 1, slow_wait: 24h}\n");
  LockClient client = Client();
  const std::string held = client.Acquire(AcquireOf("n")).response.lease().lease_id();
  v1::AcquireRequest waits = AcquireOf("n");
  waits.mutable_wait_timeout()->set_seconds(20);
  std::string held_next;
  std::thread first([&] { held_next = client.Acquire(waits).response.lease().lease_id(); });
  EXPECT_TRUE(
      support::WaitUntil([&] { return client.GetLock("n").response.lock().waiters() == 1; }));
  EXPECT_EQ(client.Acquire(waits).reason, "WAITER_LIMIT");

  Write("waiters: {per_lock_max: 2, per_principal_max: 1, slow_wait: 1ms}\n");
  daemon_->WaitForLog("event=files.reloaded");
  EXPECT_THAT(client.Acquire(waits).status.error_message(),
              HasSubstr("at most 1 acquires of one principal"));

  Write("waiters: {per_lock_max: 2, slow_wait: 1ms}\n");
  daemon_->WaitForLog("before=1 after=50000");
  std::thread second([&] { EXPECT_TRUE(client.Acquire(waits).response.has_lease()); });
  EXPECT_TRUE(
      support::WaitUntil([&] { return client.GetLock("n").response.lock().waiters() == 2; }));
  EXPECT_THAT(client.Acquire(waits).status.error_message(), HasSubstr("has 2 waiters"));

  EXPECT_TRUE(client.Release(ReleaseOf("n", held)).response.released());
  first.join();
  daemon_->WaitForLog("event=lock.slow_wait");
  EXPECT_TRUE(client.Release(ReleaseOf("n", held_next)).response.released());
  second.join();
}

// No lease is longer than the marker says, and the quarantine is as long as the longest lease that
// may run, whatever the setting is by then.
TEST_F(ReloadTest, QuarantineCoversTheLongestLeaseThatWasEverAllowed) {
  StartWith("lease: {max_ttl: 10s}\n");
  LockClient client = Client();
  ASSERT_TRUE(client.Acquire(AcquireOf("a", "", std::chrono::seconds(10))).response.has_lease());
  EXPECT_EQ(Ceiling(), std::chrono::seconds(10));

  Write("lease: {max_ttl: 10s, by_prefix: ['long/ max_ttl=10m']}\n");
  daemon_->WaitForLog("setting=lease.by_prefix");
  EXPECT_EQ(Ceiling(), std::chrono::seconds(10)) << "nobody has asked for a longer one";
  const auto answer = client.Acquire(AcquireOf("long/a", "", std::chrono::minutes(10)));
  ASSERT_TRUE(answer.response.has_lease());
  EXPECT_EQ(Ceiling(), std::chrono::minutes(10));

  Write("lease: {max_ttl: 5s}\n");
  daemon_->WaitForLog("setting=lease.max_ttl before=10s after=5s");
  EXPECT_EQ(client.Acquire(AcquireOf("long/b", "", std::chrono::seconds(6))).field, "ttl");
  const auto extended = client.Extend(ExtendOf("long/a", answer.response.lease().lease_id()));
  ASSERT_TRUE(extended.ok()) << extended.status.error_message();
  EXPECT_GT(extended.response.lease().remaining_ttl().seconds(), 500)
      << "a lease keeps its ttl, so that no reload takes a lock away";

  redis_.Run({"FLUSHALL"});
  daemon_->WaitForLog("event=guard.loss_suspected");
  const auto left = Info().store().quarantine_left().seconds();
  EXPECT_GT(left, 590);
  EXPECT_LE(left, 607) << "ten minutes and one percent";
}

TEST_F(ReloadTest, FileWithAnErrorChangesNothing) {
  const std::string good = "lease:\n  default_ttl: 10s\n";
  StartWith(good);

  Write("lease:\n  default_ttl: 20s\n  max_ttl: 25h\nwaiter: {}\n");
  daemon_->WaitForLog("event=files.refused");

  EXPECT_THAT(daemon_->Stderr(),
              AllOf(HasSubstr("files=config"),
                    HasSubstr(File() + ":3: lease.max_ttl: must be from 1s to 24h, is 25h"),
                    HasSubstr(File() + ":4: unknown section"), HasSubstr("did you mean waiters?"),
                    Not(HasSubstr("event=config.changed"))));
  EXPECT_EQ(DefaultTtl("a"), 10);
  EXPECT_EQ(Get(*daemon_, "/readyz").status, 200);
  EXPECT_EQ(Metric("refused"), "1");
  EXPECT_EQ(IsRefused(), "1");
  EXPECT_EQ(Info().refused_files_size(), 1);
  EXPECT_FALSE(Info().config_file().in_use());
  EXPECT_THAT(Info().config_file().problem(), HasSubstr("lease.max_ttl: must be from 1s to 24h"));

  Write("lease:\n  default_ttl: 20s\n  max_ttl: 15s\n");
  daemon_->WaitForLog("20s is longer than");
  EXPECT_EQ(DefaultTtl("b"), 10);

  Write("");
  daemon_->WaitForLog("is empty");
  EXPECT_EQ(DefaultTtl("c"), 10) << "somebody may be about to write it";

  Write(good);
  EXPECT_TRUE(support::WaitUntil([&] { return Info().config_file().in_use(); }));
  EXPECT_EQ(Info().config_file().problem(), "");
  EXPECT_TRUE(support::WaitUntil([&] { return IsRefused() == "0"; })) << "it is as before";
  EXPECT_EQ(Info().refused_files_size(), 0);
}

// Only somebody who asks hears of the same problem again.
TEST_F(ReloadTest, HangupLooksAtTheFileAgain) {
  StartWith("lease: {default_ttl: 10s}\n");
  Write("lease: {default_ttl: 10}\n");
  daemon_->WaitForLog("event=files.refused");
  EXPECT_EQ(Metric("refused"), "1");

  daemon_->Signal(SIGHUP);
  EXPECT_TRUE(support::WaitUntil([&] { return Metric("refused") == "2"; }));

  Write("lease: {default_ttl: 15s}\n");
  daemon_->Signal(SIGHUP);
  daemon_->WaitForLog("setting=lease.default_ttl before=10s after=15s");
  EXPECT_TRUE(daemon_->Runs());
}

TEST_F(ReloadTest, SettingsThatNeedARestartAreToldOnceByName) {
  const std::string store = "store: {redis: \"" + redis_.url() + "\"}\n";
  Write(store);
  daemon_ = Start({"--config", File()});

  const std::string other =
      "store: {redis: \"redis://u:hunter2@127.0.0.1:1\", connections: 3}\nlog: {format: json}\n";
  Write(other + "lease: {default_ttl: 15s}\n");
  daemon_->WaitForLog("event=files.reloaded");
  EXPECT_THAT(daemon_->Stderr(),
              AllOf(HasSubstr("event=config.needs_restart"),
                    HasSubstr("settings=\"store.redis, store.connections, log.format\""),
                    Not(HasSubstr("hunter2"))));
  EXPECT_EQ(DefaultTtl("a"), 15) << "the others count at once";
  EXPECT_TRUE(Info().config_file().in_use());
  EXPECT_THAT(Info().config_file().needs_restart(),
              ElementsAre("store.redis", "store.connections", "log.format"));

  Write(other + "lease: {default_ttl: 16s}\ndrain: {timeout: 1s}\n");
  daemon_->WaitForLog("before=15s after=16s");
  daemon_->WaitForLog("settings=drain.timeout");
  EXPECT_EQ(Info().config_file().needs_restart_size(), 4);
  EXPECT_EQ(Value("lockkeeper_settings_need_restart"), "4");

  Write(store);
  EXPECT_TRUE(support::WaitUntil([&] { return Info().config_file().needs_restart_size() == 0; }));
  EXPECT_EQ(Value("lockkeeper_settings_need_restart"), "0");
  EXPECT_EQ(DefaultTtl("b"), 30);
}

// A volume of a config map: a link to the file, through a link to the folder of the version.
TEST_F(ReloadTest, VersionOfAConfigMapIsSwapped) {
  const auto publish = [&](const std::string& version, const std::string& text) {
    fs::create_directory(directory_.Path(version));
    std::ofstream(directory_.Path(version + "/lockkeeper.yaml")) << text;
    fs::create_symlink(version, directory_.Path("..data_tmp"));
    fs::rename(directory_.Path("..data_tmp"), directory_.Path("..data"));
  };
  publish("..1", "lease: {default_ttl: 10s}\n");
  fs::create_symlink("..data/lockkeeper.yaml", File());
  daemon_ = Start({"--redis", redis_.url(), "--config", File()});
  EXPECT_EQ(DefaultTtl("a"), 10);

  publish("..2", "lease: {default_ttl: 11s}\n");
  fs::remove_all(directory_.Path("..1"));
  daemon_->WaitForLog("setting=lease.default_ttl before=10s after=11s");

  EXPECT_EQ(DefaultTtl("b"), 11);
  EXPECT_EQ(Metric("refused"), "0");
}

TEST_F(ReloadTest, EnvironmentStillWins) {
  StartWith("lease: {default_ttl: 10s, max_ttl: 40s}\n",
            {{"LOCKKEEPERD_LEASE_DEFAULT_TTL", "12s"}});

  Write("lease: {default_ttl: 20s, max_ttl: 50s}\n");
  daemon_->WaitForLog("setting=lease.max_ttl before=40s after=50s");

  EXPECT_EQ(DefaultTtl("a"), 12);
  EXPECT_THAT(daemon_->Stderr(), Not(HasSubstr("setting=lease.default_ttl")));
}

TEST_F(ReloadTest, DaemonWithoutAFileHasNone) {
  daemon_ = Start({"--redis", redis_.url()});

  EXPECT_FALSE(Info().has_config_file());
  EXPECT_EQ(Metric("used"), "none");
}

TEST_F(ReloadTest, PasswordOfRedisIsChangedWhileTheDaemonRuns) {
  redis_.Run({"ACL", "SETUSER", "lockkeeper", "on", ">old-secret", "~*", "&*", "+@all"});
  directory_.Replace("password", "old-secret\n");
  std::string url = redis_.url();
  url.insert(url.find("//") + 2, "lockkeeper@");
  daemon_ = Start({"--redis", url},
                  {{"LOCKKEEPERD_STORE_REDIS_PASSWORD_FILE", directory_.Path("password")}});
  LockClient client = Client();
  ASSERT_TRUE(client.Acquire(AcquireOf("a")).response.has_lease());

  redis_.Run({"ACL", "SETUSER", "lockkeeper", "resetpass", ">new-secret"});
  EXPECT_TRUE(client.Acquire(AcquireOf("b")).response.has_lease()) << "open connections stay";
  redis_.Run({"CLIENT", "KILL", "USER", "lockkeeper"});
  daemon_->WaitForLog("WRONGPASS");

  directory_.Replace("password", "new-secret\n");
  daemon_->WaitForLog("event=files.reloaded");
  EXPECT_THAT(daemon_->Stderr(), HasSubstr("files=redis_password"));
  EXPECT_TRUE(
      support::WaitUntil([&] { return client.Acquire(AcquireOf("c")).response.has_lease(); }));
  EXPECT_THAT(daemon_->Stderr(), Not(HasSubstr("-secret")));
}

}  // namespace
}  // namespace lockkeeper
