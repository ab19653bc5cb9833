// SPDX-License-Identifier: Apache-2.0
// How many connections the daemon has, and whom it closes for a new one.
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <memory>
#include <vector>

#include "core/limits.h"
#include "integration/daemon/fixture.h"
#include "os/descriptor.h"
#include "support/process/tcp_connection.h"
#include "support/rpc/lock_requests.h"

namespace lockkeeper {
namespace {

using support::AcquireOf;
using support::DaemonProcess;
using support::LockClient;
using support::RedisServer;
using testing::HasSubstr;
using testing::Not;

class ConnectionsTest : public DaemonTest {
 protected:
  // Connections to the daemon that say nothing.
  static std::vector<os::Descriptor> Idle(const DaemonProcess& daemon, int count) {
    std::vector<os::Descriptor> idle;
    idle.reserve(static_cast<size_t>(count));
    for (int i = 0; i < count; ++i) idle.push_back(support::ConnectTo(PortOf(daemon)));
    return idle;
  }

  // A new client is served, and others were closed for it.
  static void ExpectServed(DaemonProcess& daemon) {
    daemon.WaitForLog("event=rpc.connections_closed");
    ASSERT_TRUE(WaitForHealth(daemon, support::Serving::kServing));
    LockClient client(daemon.GrpcAddress());
    EXPECT_TRUE(client.Acquire(AcquireOf("n")).response.has_lease());
  }

  RedisServer redis_;
};

TEST_F(ConnectionsTest, IdleConnectionsTakeNoDescriptorFromOthers) {
  const auto daemon = std::make_unique<DaemonProcess>(support::DaemonProcessOptions{
      .program = "prlimit",
      .arguments = {"--nofile=200:200", LOCKKEEPERD_PROGRAM, "--listen", "127.0.0.1:0",
                    "--http-listen", "127.0.0.1:0", "--redis", redis_.url()}});
  daemon->WaitUntilReady();
  EXPECT_THAT(daemon->Stderr(), HasSubstr("descriptors=200"));

  const std::vector<os::Descriptor> idle = Idle(*daemon, 400);

  EXPECT_EQ(Get(*daemon, "/readyz").status, 200);
  ExpectServed(*daemon);
  EXPECT_THAT(Get(*daemon, "/metrics").body,
              Not(HasSubstr("lockkeeper_connections_closed_total{reason=\"too_many\"} 0\n")));
}

// A client whose next segment does not fit into the window waits for 200 ms; those of loopback
// would be four times as long as the whole buffer.
TEST_F(ConnectionsTest, SegmentsOfClientsAreMuchShorterThanTheBuffer) {
  const auto daemon = Start({"--redis", redis_.url()});
  const os::Descriptor client = support::ConnectTo(PortOf(*daemon));

  int segment = 0;
  socklen_t size = sizeof segment;
  ASSERT_EQ(getsockopt(client.get(), IPPROTO_TCP, TCP_MAXSEG, &segment, &size), 0);

  EXPECT_GT(segment, 0);
  EXPECT_LE(8 * segment, core::limits::kReceiveBufferBytes);
}

TEST_F(ConnectionsTest, AreBounded) {
  const auto daemon =
      Start({"--redis", redis_.url()}, {{"LOCKKEEPERD_SERVER_CONNECTIONS_MAX", "20"}});
  const std::vector<os::Descriptor> idle = Idle(*daemon, 100);
  ExpectServed(*daemon);
}

}  // namespace
}  // namespace lockkeeper
