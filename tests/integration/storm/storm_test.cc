// SPDX-License-Identifier: Apache-2.0
//
// One lock, three daemons, many connections that stand in line for it, while clients and a daemon
// are killed. Everybody is served, in the order of arrival; no two hold the lock at once as far as
// the counter that it guards can tell; and in the end nothing is left.
// LOCKKEEPER_STORM_SECONDS and LOCKKEEPER_STORM_CONNECTIONS set how long and how many.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "support/guarded_counter.h"
#include "support/process/daemon_process.h"
#include "support/process/read_text.h"
#include "support/process/redis_server.h"
#include "support/process/temporary_directory.h"
#include "support/random.h"

namespace lockkeeper::support {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int64_t kSecondsByDefault = 6;
constexpr int64_t kConnectionsByDefault = 48;
constexpr int64_t kWorkers = 6;
constexpr size_t kDaemons = 3;
const std::string kLock = "storm";

struct Grant {
  std::string lease_id;
  int64_t token = 0;
  int64_t waited_us = 0;
  int retries = 0;
};

class StormTest : public testing::Test {
 protected:
  StormTest() {
    for (size_t i = 0; i < kDaemons; ++i) {
      daemons_.push_back(std::make_unique<DaemonProcess>(
          DaemonProcessOptions{.program = LOCKKEEPERD_PROGRAM,
                               .arguments = {"--redis", redis_.unix_url(), "--listen",
                                             "127.0.0.1:0", "--http-listen", "127.0.0.1:0"},
                               .environment = {{"LOCKKEEPERD_LOG_LEVEL", "error"},
                                               {"LOCKKEEPERD_STORE_RECORD_RETENTION", "1s"}}}));
      daemons_.back()->WaitUntilReady();
    }
  }

  // In the place of worker `place`; what was there is killed. The new one has begun afterwards: it
  // ends by SIGTERM as it should.
  void StartWorker(size_t place) {
    if (workers_.size() <= place) workers_.resize(place + 1);
    workers_[place].reset();
    files_.push_back(directory_.Path("worker" + std::to_string(files_.size())));
    std::vector<std::string> command = {STORM_WORKER_PROGRAM, kLock, counter_file_,
                                        std::to_string(connections_ / kWorkers)};
    for (const auto& daemon : daemons_) command.push_back(daemon->GrpcAddress());
    // Each begins at another daemon.
    std::rotate(command.begin() + 4, command.begin() + 4 + static_cast<long>(place % kDaemons),
                command.end());
    workers_[place] = std::make_unique<ChildProcess>(
        ChildProcessOptions{.command = command, .output_file = files_.back()});
    while (ReadText(files_.back()).empty()) LookAtTheLine();
  }

  // Remembers the arrival numbers of those who stand in line now (see line.lua).
  void LookAtTheLine() {
    const redis::Reply reply =
        redis_.Run({"ZRANGEBYSCORE", "lk:{" + kLock + "}:line", "-inf", "(0", "WITHSCORES"});
    for (size_t i = 0; i + 1 < reply.items.size(); i += 2) {
      const std::string& member = reply.items[i].text;
      if (member.starts_with("i")) {
        numbers_[member.substr(1)] = -std::stoll(reply.items[i + 1].text);
      }
    }
  }

  void WatchTheLineUntil(Clock::time_point end) {
    while (Clock::now() < end) LookAtTheLine();
  }

  std::vector<Grant> Grants() const {
    std::vector<Grant> grants;
    for (const std::string& name : files_) {
      std::ifstream file(name);
      for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        std::string kind;
        Grant grant;
        words >> kind >> grant.lease_id >> grant.token >> grant.waited_us >> grant.retries;
        if (kind == "granted" && words) {
          grants.push_back(grant);
        } else if (kind != "granted" && kind != "begun") {
          ADD_FAILURE() << line;
        }
      }
    }
    return grants;
  }

  const int64_t connections_ = RepeatsFrom("LOCKKEEPER_STORM_CONNECTIONS", kConnectionsByDefault);
  RedisServer redis_;
  TemporaryDirectory directory_;
  const std::string counter_file_ = directory_.Path("counter");
  std::vector<std::unique_ptr<DaemonProcess>> daemons_;
  std::vector<std::unique_ptr<ChildProcess>> workers_;
  std::vector<std::string> files_;
  std::map<std::string, int64_t> numbers_;  // By lease id.
};

// Grants, in the order of their tokens, that came after one that had arrived later. One whose call
// was cut off with its daemon may be passed over before it stands at another.
size_t OutOfOrder(std::vector<Grant> grants, const std::map<std::string, int64_t>& numbers,
                  size_t& compared) {
  std::ranges::sort(grants, {}, &Grant::token);
  size_t out_of_order = 0;
  int64_t highest = 0;
  for (const Grant& grant : grants) {
    const auto number = numbers.find(grant.lease_id);
    if (number == numbers.end() || grant.retries > 0) continue;
    ++compared;
    if (number->second < highest) ++out_of_order;
    highest = std::max(highest, number->second);
  }
  return out_of_order;
}

TEST_F(StormTest, EverybodyIsServedInOrderWhileClientsAndADaemonAreKilled) {
  const seconds duration(RepeatsFrom("LOCKKEEPER_STORM_SECONDS", kSecondsByDefault));
  constexpr int kKills = 5;
  for (size_t place = 0; place < kWorkers; ++place) StartWorker(place);

  const Clock::time_point start = Clock::now();
  for (int kill = 1; kill <= kKills; ++kill) {
    WatchTheLineUntil(start + duration * kill / (kKills + 1));
    StartWorker(static_cast<size_t>(kill));  // Whoever waits or holds there dies.
    if (kill == kKills / 2) daemons_[1]->Signal(SIGKILL);
  }
  WatchTheLineUntil(start + duration);
  for (const auto& worker : workers_) worker->Signal(SIGTERM);
  for (const auto& worker : workers_) {
    while (!worker->WaitForEnd(milliseconds(0))) {
      LookAtTheLine();
      ASSERT_LT(Clock::now(), start + duration + std::chrono::minutes(2)) << "a lost waiter";
    }
    EXPECT_EQ(worker->WaitForEnd(milliseconds(0))->exit_code, 0);
  }

  const std::vector<Grant> grants = Grants();
  size_t compared = 0;
  const size_t out_of_order = OutOfOrder(grants, numbers_, compared);
  int64_t longest_wait = 0;
  for (const Grant& grant : grants) longest_wait = std::max(longest_wait, grant.waited_us);
  RecordProperty("grants", static_cast<int>(grants.size()));
  RecordProperty("compared", static_cast<int>(compared));
  RecordProperty("out_of_order", static_cast<int>(out_of_order));
  RecordProperty("longest_wait_ms", static_cast<int>(longest_wait / 1'000));

  EXPECT_GT(compared, grants.size() / 2) << "of " << grants.size() << " grants";
  EXPECT_EQ(out_of_order, 0U) << "of " << compared;
  const GuardedCounter::State counter = GuardedCounter(counter_file_).Look();
  EXPECT_EQ(counter.value, counter.raises) << "a raise was lost: two held the lock";
  EXPECT_GT(counter.raises, 0);
  const Clock::time_point end = Clock::now() + std::chrono::minutes(2);
  // The marker of the store stays.
  while (redis_.Run({"DBSIZE"}).integer > 1 && Clock::now() < end) std::this_thread::yield();
  EXPECT_EQ(redis_.Run({"DBSIZE"}).integer, 1) << "keys are left";
}

}  // namespace
}  // namespace lockkeeper::support
