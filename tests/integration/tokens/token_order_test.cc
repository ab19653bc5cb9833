// SPDX-License-Identifier: Apache-2.0
//
// Tokens rise whatever happens to Redis: eight processes lock and unlock one lock while the store
// is emptied, sent an hour ahead and back, and restarted without its data.
// LOCKKEEPER_TOKEN_GRANTS sets how many grants there are in all.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "support/clock/server_clock.h"
#include "support/process/child_process.h"
#include "support/process/daemon_process.h"
#include "support/process/redis_server.h"
#include "support/process/temporary_directory.h"
#include "support/random.h"

namespace lockkeeper::support {
namespace {

constexpr int64_t kProcesses = 8;
constexpr int64_t kGrantsByDefault = 4'000;
constexpr size_t kLineBytes = 63;  // What a worker writes for each.
constexpr std::chrono::minutes kPatience{10};

struct Grant {
  int64_t asked = 0;
  int64_t answered = 0;
  int64_t token = 0;
};

class TokenOrderTest : public testing::Test {
 protected:
  TokenOrderTest()
      : redis_({.environment = clock_.environment()}),
        daemon_({.program = LOCKKEEPERD_PROGRAM,
                 .arguments = {"--redis", redis_.unix_url(), "--listen", "127.0.0.1:0",
                               "--http-listen", "127.0.0.1:0"}}) {
    daemon_.WaitUntilReady();
  }

  void StartWorkers(int64_t grants_of_each) {
    for (int64_t i = 0; i < kProcesses; ++i) {
      files_.push_back(directory_.Path("worker" + std::to_string(i)));
      workers_.push_back(std::make_unique<ChildProcess>(
          ChildProcessOptions{.command = {TOKEN_WORKER_PROGRAM, daemon_.GrpcAddress(), "the lock",
                                          std::to_string(grants_of_each)},
                              .output_file = files_.back()}));
    }
  }

  std::vector<Grant> Grants() const {
    std::vector<Grant> grants;
    for (const std::string& name : files_) {
      std::ifstream file(name);
      for (Grant grant; file >> grant.asked >> grant.answered >> grant.token;) {
        grants.push_back(grant);
      }
    }
    return grants;
  }

  size_t GrantsSoFar() const {
    size_t lines = 0;
    for (const std::string& name : files_) lines += std::filesystem::file_size(name) / kLineBytes;
    return lines;
  }

  // Waits until there are so many more grants than now.
  void AwaitGrants(size_t more) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    const size_t wanted = GrantsSoFar() + more;
    while (GrantsSoFar() < wanted) {
      ASSERT_LT(std::chrono::steady_clock::now(), end) << "the workers do not get on";
      std::this_thread::yield();
    }
  }

  ServerClock clock_;
  RedisServer redis_;
  DaemonProcess daemon_;
  TemporaryDirectory directory_;
  std::vector<std::string> files_;
  std::vector<std::unique_ptr<ChildProcess>> workers_;
};

// Fails where a grant that began after another one had ended has no higher token. Grants by their
// start, beside the highest token of those that ended before it.
void ExpectRising(std::vector<Grant> grants) {
  std::vector<Grant> by_end = grants;
  std::ranges::sort(grants, {}, &Grant::asked);
  std::ranges::sort(by_end, {}, &Grant::answered);
  int64_t highest = 0;
  size_t ended = 0;
  for (const Grant& grant : grants) {
    for (; ended < by_end.size() && by_end[ended].answered < grant.asked; ++ended) {
      highest = std::max(highest, by_end[ended].token);
    }
    ASSERT_GT(grant.token, highest);
  }
  std::ranges::sort(grants, {}, &Grant::token);
  const auto twin = std::ranges::adjacent_find(grants, {}, &Grant::token);
  EXPECT_EQ(twin, grants.end()) << twin->token << " was granted twice";
}

TEST_F(TokenOrderTest, TokensRiseOverEverythingThatHappensToRedis) {
  const int64_t grants = RepeatsFrom("LOCKKEEPER_TOKEN_GRANTS", kGrantsByDefault);
  const auto step = static_cast<size_t>(grants / 20);
  StartWorkers(grants / kProcesses);

  AwaitGrants(step);
  redis_.Run({"FLUSHALL"});
  AwaitGrants(step);
  clock_.StepBy(std::chrono::hours(1));
  AwaitGrants(step);
  clock_.StepBy(-std::chrono::hours(1));
  AwaitGrants(step);
  // The clock was an hour ahead, and nothing in Redis remembers it: only the daemon does.
  redis_.Restart(Data::kLose);
  AwaitGrants(step);
  redis_.Run({"FLUSHALL"});

  for (const auto& worker : workers_) {
    const auto end = worker->WaitForEnd(kPatience);
    ASSERT_TRUE(end.has_value()) << "a worker does not end";
    EXPECT_EQ(end->exit_code, 0);
  }
  const std::vector<Grant> all = Grants();
  EXPECT_EQ(all.size(), static_cast<size_t>(grants / kProcesses * kProcesses));
  ExpectRising(all);
}

}  // namespace
}  // namespace lockkeeper::support
