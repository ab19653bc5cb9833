// SPDX-License-Identifier: Apache-2.0
// How many connections the daemon has, and whom it closes for a new one.
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <memory>
#include <vector>

#include "integration/daemon/fixture.h"
#include "os/descriptor.h"
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
  // A connection that says nothing. Not valid if it is refused.
  static os::Descriptor Connect(uint16_t port) {
    os::Descriptor connection(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    if (connect(connection.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
      return os::Descriptor();
    }
    return connection;
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

  std::vector<os::Descriptor> idle;
  for (int i = 0; i < 400; ++i) idle.push_back(Connect(PortOf(*daemon)));

  EXPECT_EQ(Get(*daemon, "/readyz").status, 200);
  daemon->WaitForLog("event=rpc.connections_closed");
  ASSERT_TRUE(WaitForHealth(*daemon, support::Serving::kServing));
  LockClient client(daemon->GrpcAddress());
  EXPECT_TRUE(client.Acquire(AcquireOf("n")).response.has_lease());
  EXPECT_THAT(Get(*daemon, "/metrics").body,
              Not(HasSubstr("lockkeeper_connections_closed_total{reason=\"too_many\"} 0\n")));
}

TEST_F(ConnectionsTest, AreBounded) {
  const auto daemon = std::make_unique<DaemonProcess>(
      support::DaemonProcessOptions{.program = LOCKKEEPERD_PROGRAM,
                                    .arguments = {"--listen", "127.0.0.1:0", "--http-listen",
                                                  "127.0.0.1:0", "--redis", redis_.url()},
                                    .environment = {{"LOCKKEEPERD_SERVER_CONNECTIONS_MAX", "20"}}});
  daemon->WaitUntilReady();

  std::vector<os::Descriptor> idle;
  for (int i = 0; i < 100; ++i) idle.push_back(Connect(PortOf(*daemon)));

  daemon->WaitForLog("event=rpc.connections_closed");
  ASSERT_TRUE(WaitForHealth(*daemon, support::Serving::kServing));
  LockClient client(daemon->GrpcAddress());
  EXPECT_TRUE(client.Acquire(AcquireOf("n")).response.has_lease());
}

}  // namespace
}  // namespace lockkeeper
