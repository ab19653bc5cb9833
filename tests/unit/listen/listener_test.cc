// SPDX-License-Identifier: Apache-2.0
#include "listen/listener.h"

#include <gmock/gmock.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

namespace lockkeeper::listen {
namespace {

using config::ListenAddress;
using testing::HasSubstr;
using testing::SizeIs;

constexpr uint16_t kFirstPort = 40'000;

// The calling thread sees a network of its own from now on: a loopback interface, and two ports
// that the kernel may choose. False if this process may not make one.
bool EnterNetworkWithTwoPorts() {
  if (unshare(CLONE_NEWNET) != 0) return false;
  const os::Descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq loopback{};
  std::strncpy(loopback.ifr_name, "lo", sizeof(loopback.ifr_name) - 1);
  loopback.ifr_flags = IFF_UP;
  EXPECT_EQ(ioctl(socket.get(), SIOCSIFFLAGS, &loopback), 0);
  std::ofstream("/proc/sys/net/ipv4/ip_local_port_range") << kFirstPort << " " << kFirstPort + 1;
  return true;
}

class ListenerTest : public testing::Test {
 protected:
  // On a thread that is alone in its network.
  static void Run(const std::function<void()>& test) {
    std::string missing;
    std::thread([&] {
      if (!EnterNetworkWithTwoPorts()) {
        missing = "this user may not make a network namespace";
      } else if (!Listen({.host = "::1"}).ok()) {
        missing = "this machine has no IPv6";
      } else {
        test();
      }
    }).join();
    if (!missing.empty()) GTEST_SKIP() << missing;
  }

  static Listener ListenAt(const std::string& host, uint16_t port) {
    auto listener = Listen({.host = host, .port = port});
    EXPECT_TRUE(listener.ok()) << listener.status();
    return listener.ok() ? *std::move(listener) : Listener{};
  }
};

TEST_F(ListenerTest, LocalhostIsBothFamiliesAtOnePort) {
  Run([] { EXPECT_THAT(ListenAt("localhost", 0).sockets, SizeIs(2)); });
}

TEST_F(ListenerTest, ChoosesAPortThatIsFreeInBothFamilies) {
  Run([] {
    // What the kernel would choose first, taken in the other family.
    const uint16_t first = ListenAt("::1", 0).address.port;
    const Listener other = ListenAt("127.0.0.1", first);
    const Listener listener = ListenAt("localhost", 0);
    EXPECT_THAT(listener.sockets, SizeIs(2));
    EXPECT_EQ(listener.address.port, 2 * kFirstPort + 1 - first);
  });
}

TEST_F(ListenerTest, TellsThatNoPortIsFree) {
  Run([] {
    const Listener one = ListenAt("127.0.0.1", kFirstPort);
    const Listener other = ListenAt("127.0.0.1", kFirstPort + 1);
    const auto listener = Listen({.host = "localhost", .port = 0});
    EXPECT_THAT(listener.status().message(), HasSubstr("localhost:0: Address already in use"));
  });
}

TEST_F(ListenerTest, DoesNotChooseAnotherPortThanTheGivenOne) {
  Run([] {
    const Listener other = ListenAt("127.0.0.1", kFirstPort);
    const auto listener = Listen({.host = "localhost", .port = kFirstPort});
    EXPECT_THAT(listener.status().message(), HasSubstr("localhost:40000: Address already in use"));
  });
}

}  // namespace
}  // namespace lockkeeper::listen
