// SPDX-License-Identifier: Apache-2.0
// The embedded store over restarts of its daemon: its own folder goes on at once, an older copy of
// it is noticed.
#include <gmock/gmock.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "integration/daemon/fixture.h"
#include "support/process/redis_connection.h"
#include "support/rpc/lock_requests.h"

namespace lockkeeper {
namespace {

namespace fs = std::filesystem;
using support::AcquireOf;
using support::DaemonProcess;
using support::ExtendOf;
using support::LockClient;
using testing::HasSubstr;
using testing::Not;

class EmbeddedRestartTest : public DaemonTest {
 protected:
  std::unique_ptr<DaemonProcess> StartEmbedded(Arguments more = {}) const {
    more.insert(more.begin(), {"--embedded", "--data-dir", data_});
    return Start(more);
  }

  static void Kill(DaemonProcess& daemon) {
    daemon.Signal(SIGKILL);
    daemon.WaitForEnd();
  }

  static v1::Lease Hold(const DaemonProcess& daemon, const std::string& name) {
    const auto answer =
        LockClient(daemon.GrpcAddress()).Acquire(AcquireOf(name, "", std::chrono::seconds(60)));
    EXPECT_TRUE(answer.response.has_lease()) << name << ": " << answer.reason;
    return answer.response.lease();
  }

  // What the server would start from.
  std::string Files() const { return data_ + "/appendonlydir"; }

  const std::string data_ = directory_.Path("data");
};

TEST_F(EmbeddedRestartTest, KilledDaemonGoesOnAtOnceWithEveryLock) {
  auto daemon = StartEmbedded();
  const v1::Lease lease = Hold(*daemon, "held");
  const std::string marker =
      support::RedisConnection(data_ + "/redis.sock").Run({"GET", "lk:store"}).text;
  ASSERT_EQ(marker.substr(97, 1), "D") << marker;
  EXPECT_THAT(marker.substr(99, 16), Not(std::string(16, '0'))) << "its folder";

  for (int restart = 0; restart < 3; ++restart) {
    Kill(*daemon);
    daemon = StartEmbedded();

    LockClient client(daemon->GrpcAddress());
    EXPECT_EQ(client.Acquire(AcquireOf("held")).response.contention().reason(),
              v1::CONTENTION_REASON_HELD);
    EXPECT_EQ(client.Extend(ExtendOf("held", lease.lease_id())).reason, "");
    Hold(*daemon, "new " + std::to_string(restart));
    EXPECT_EQ(client.GetServerInfo().response.store().epoch(), 1);
    EXPECT_THAT(daemon->Stderr(), Not(HasSubstr("event=guard")));
  }
}

TEST_F(EmbeddedRestartTest, OlderCopyOfTheFolderIsNoticedAndHoldersKeepTheirLocks) {
  auto daemon = StartEmbedded();
  Hold(*daemon, "before");
  fs::copy(Files(), directory_.Path("copy"));
  const v1::Lease lost = Hold(*daemon, "after");
  Kill(*daemon);
  fs::rename(Files(), directory_.Path("original"));
  fs::rename(directory_.Path("copy"), Files());

  daemon = StartEmbedded();

  daemon->WaitForLog("event=guard.loss_suspected");
  EXPECT_THAT(daemon->Stderr(), HasSubstr(" loss=data_touched "));
  LockClient client(daemon->GrpcAddress());
  EXPECT_EQ(client.Acquire(AcquireOf("after")).reason, "STORE_QUARANTINED");
  v1::ExtendRequest extend = ExtendOf("after", lost.lease_id());
  extend.set_fencing_token(lost.fencing_token());
  extend.set_reassertion(lost.reassertion());
  EXPECT_EQ(client.Extend(extend).reason, "");
}

TEST_F(EmbeddedRestartTest, TokensRiseOverAnOlderCopyThatIsNotQuarantined) {
  const std::string config = directory_.Path("config.yaml");
  std::ofstream(config) << "store:\n  quarantine: \"off\"\n";
  auto daemon = StartEmbedded();
  Hold(*daemon, "before");
  fs::copy(Files(), directory_.Path("copy"));
  const v1::Lease lost = Hold(*daemon, "after");
  Kill(*daemon);
  fs::remove_all(Files());
  fs::rename(directory_.Path("copy"), Files());

  daemon = StartEmbedded({"--config", config});

  EXPECT_GT(Hold(*daemon, "after").fencing_token(), lost.fencing_token());
  EXPECT_THAT(daemon->Stderr(), HasSubstr(" loss=data_touched "));
}

}  // namespace
}  // namespace lockkeeper
