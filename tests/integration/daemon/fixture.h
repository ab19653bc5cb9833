// SPDX-License-Identifier: Apache-2.0
//
// What the tests of the daemon's process share: how it is started, and how it is looked at.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/process/daemon_process.h"
#include "support/process/http_get.h"
#include "support/process/redis_server.h"
#include "support/process/temporary_directory.h"
#include "support/rpc/health_client.h"
#include "support/rpc/lock_client.h"

namespace lockkeeper {

class DaemonTest : public testing::Test {
 protected:
  using Arguments = std::vector<std::string>;
  using Environment = std::vector<std::pair<std::string, std::string>>;

  // Starts a daemon with exactly these arguments; waits for nothing.
  static std::unique_ptr<support::DaemonProcess> Launch(const Arguments& arguments,
                                                        const Environment& environment = {}) {
    return std::make_unique<support::DaemonProcess>(support::DaemonProcessOptions{
        .program = LOCKKEEPERD_PROGRAM, .arguments = arguments, .environment = environment});
  }

  // The same on ports that the system chooses, besides.
  static std::unique_ptr<support::DaemonProcess> LaunchOnAnyPort(
      Arguments arguments, const Environment& environment = {}) {
    arguments.insert(arguments.begin(),
                     {"--listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0"});
    return Launch(arguments, environment);
  }

  // The same, and waits until it is ready.
  static std::unique_ptr<support::DaemonProcess> Start(const Arguments& arguments,
                                                       const Environment& environment = {}) {
    auto daemon = LaunchOnAnyPort(arguments, environment);
    daemon->WaitUntilReady();
    return daemon;
  }

  static uint16_t PortOf(const support::DaemonProcess& daemon) {
    const std::string address = daemon.GrpcAddress();
    return static_cast<uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
  }

  static support::HttpAnswer Get(const support::DaemonProcess& daemon, const std::string& path) {
    return support::HttpGet(daemon.HttpAddress(), path);
  }

  // Waits until the daemon's overall health is `wanted`. False if it does not get there.
  static bool WaitForHealth(const support::DaemonProcess& daemon, support::Serving wanted) {
    const support::LockClient client(daemon.GrpcAddress());
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (std::chrono::steady_clock::now() < until) {
      if (support::CheckHealth(client.channel(), "") == wanted) return true;
    }
    return false;
  }

  support::TemporaryDirectory directory_;
};

}  // namespace lockkeeper
