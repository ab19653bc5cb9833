// SPDX-License-Identifier: Apache-2.0
//
// The C++ client, daemons, and the Redis that they share.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "client_core.h"
#include "lockkeeper/client.h"
#include "redis/node/reply.h"
#include "support/process/cli_process.h"
#include "support/process/daemon_process.h"
#include "support/process/line_member.h"
#include "support/process/redis_server.h"
#include "transport/channels.h"

namespace lockkeeper {

class ClientAndDaemons : public testing::Test {
 protected:
  using Sessions = client::Channels::Sessions;

  using Environment = std::vector<std::pair<std::string, std::string>>;

  std::unique_ptr<support::DaemonProcess> StartDaemon(const std::string& listen = "127.0.0.1:0",
                                                      const Environment& environment = {}) const {
    auto daemon = std::make_unique<support::DaemonProcess>(
        support::DaemonProcessOptions{.program = LOCKKEEPERD_PROGRAM,
                                      .arguments = {"--redis", redis_.unix_url(), "--listen",
                                                    listen, "--http-listen", "127.0.0.1:0"},
                                      .environment = environment});
    daemon->WaitUntilReady();
    return daemon;
  }

  // The addresses may be any target of gRPC.
  static Client ClientOf(
      const std::vector<std::string>& addresses, Sessions sessions = Sessions::kUsed,
      client::Spread spread = client::Spread::kOneDaemon,
      const std::function<void(const absl::Status& why)>& on_unserved = nullptr) {
    return Client(std::make_shared<client::ClientCore>(
        ClientOptions{.addresses = addresses,
                      .owner = "the tests",
                      .call_timeout = std::chrono::seconds(30),
                      .release_timeout = std::chrono::seconds(20),
                      .on_unserved = on_unserved},
        client::Channels::Open(addresses, sessions, {}, nullptr, spread)));
  }

  static std::future<AcquireResult> AcquireWaiting(Client& client, std::stop_token cancel = {}) {
    return std::async(std::launch::async, [&client, cancel = std::move(cancel)] {
      return client.Acquire("report", {.wait_timeout = std::chrono::minutes(2), .cancel = cancel});
    });
  }

  // Members of the line of `report`.
  std::vector<std::string> Line() const {
    std::vector<std::string> members;
    for (const redis::Reply& item : redis_.Run({"ZRANGE", "lk:{report}:line", "0", "-1"}).items) {
      members.push_back(item.text);
    }
    return members;
  }

  // Waits until `count` acquires that were sent at least `attempt` times stand in the line of
  // `report`.
  bool WaitForWaiters(int count, int attempt = 1) const {
    return support::WaitUntil([&] {
      int found = 0;
      for (const std::string& member : Line()) {
        if (support::AttemptInLine(member) >= attempt) ++found;
      }
      return found == count;
    });
  }

  support::RedisServer redis_;
};

}  // namespace lockkeeper
