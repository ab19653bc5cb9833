// SPDX-License-Identifier: Apache-2.0
//
// The embedded store with a real redis-server: it starts, is private and durable, comes back, and
// dies with its daemon.
#include "embedded/embedded_store.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <condition_variable>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>

#include "core/errors.h"
#include "redis/client/redis_url.h"
#include "support/process/child_process.h"
#include "support/process/redis_connection.h"
#include "support/process/temporary_directory.h"

namespace lockkeeper::embedded {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using support::ChildProcess;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Kind = EmbeddedEvent::Kind;

constexpr seconds kPatience{60};

// The events so far, to be waited for.
class Events {
 public:
  EmbeddedListener Listener() {
    return [this](const EmbeddedEvent& event) {
      const std::lock_guard lock(mutex_);
      events_.push_back(event);
      changed_.notify_all();
    };
  }

  // Waits for the `count`th event of `kind`; its text.
  std::string Await(Kind kind, size_t count = 1) {
    std::unique_lock lock(mutex_);
    std::string text;
    const bool came = changed_.wait_for(lock, kPatience, [&] {
      size_t seen = 0;
      for (const EmbeddedEvent& event : events_) {
        if (event.kind == kind && ++seen == count) {
          text = event.text;
          return true;
        }
      }
      return false;
    });
    return came ? text : "nothing";
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<EmbeddedEvent> events_;
};

class EmbeddedStoreTest : public testing::Test {
 protected:
  EmbeddedStoreOptions Options() const {
    return {.data_directory = data_,
            .lock_patience = milliseconds(0),
            .restart_pause_first = milliseconds(1),
            .restart_pause_max = milliseconds(20)};
  }

  std::unique_ptr<EmbeddedStore> Start() { return Start(Options()); }

  std::unique_ptr<EmbeddedStore> Start(const EmbeddedStoreOptions& options) {
    auto store = EmbeddedStore::Start(options, events_.Listener());
    if (!store.ok()) throw std::runtime_error(std::string(store.status().message()));
    return *std::move(store);
  }

  std::string StartProblem(const EmbeddedStoreOptions& options) {
    const auto store = EmbeddedStore::Start(options, nullptr);
    if (store.ok()) return "started";
    EXPECT_EQ(core::ReasonOf(store.status()), core::ErrorReason::kStoreUnavailable);
    return std::string(store.status().message());
  }

  redis::Reply Run(const std::vector<std::string_view>& words) const {
    return support::RedisConnection(data_ + "/redis.sock").Run(words);
  }

  pid_t ServerPid() const {
    const std::string info = Run({"INFO", "server"}).text;
    return std::stoi(info.substr(info.find("process_id:") + sizeof "process_id:" - 1));
  }

  std::string Setting(const std::string& name) const {
    return Run({"CONFIG", "GET", name}).items.at(1).text;
  }

  std::string MakeProgram(const std::string& text) const {
    const std::string path = directory_.Path("program");
    std::ofstream(path) << "#!/bin/sh\n" << text << "\n";
    chmod(path.c_str(), 0700);
    return path;
  }

  support::TemporaryDirectory directory_;
  const std::string data_ = directory_.Path("data");
  Events events_;
};

TEST_F(EmbeddedStoreTest, RunsDurablyWithoutEvictionAndWithoutAPort) {
  const auto store = Start();

  EXPECT_EQ(store->url(), "unix://" + data_ + "/redis.sock");
  EXPECT_EQ(Setting("port"), "0");
  EXPECT_EQ(Setting("appendonly"), "yes");
  EXPECT_EQ(Setting("appendfsync"), "always");
  EXPECT_EQ(Setting("no-appendfsync-on-rewrite"), "no");
  EXPECT_EQ(Setting("save"), "");
  EXPECT_EQ(Setting("maxmemory-policy"), "noeviction");
  EXPECT_EQ(Setting("dir"), data_);
  EXPECT_THAT(events_.Await(Kind::kStarted), HasSubstr("redis-server runs with process id "));
}

TEST_F(EmbeddedStoreTest, DirectoryOfAnyNameIsReachedThroughTheUrl) {
  EmbeddedStoreOptions options = Options();
  options.data_directory = directory_.Path("a b\"?%\xc3\xa9");

  const auto store = Start(options);
  const auto url = redis::ParseRedisUrl(store->url());

  ASSERT_TRUE(url.ok()) << url.status();
  EXPECT_EQ(support::RedisConnection(url->socket_path).Run({"PING"}).text, "PONG");
}

TEST_F(EmbeddedStoreTest, FilesAreForTheirOwnerOnly) {
  const auto store = Start();

  for (const auto& entry : std::filesystem::recursive_directory_iterator(data_)) {
    EXPECT_EQ(static_cast<unsigned>(entry.status().permissions()) & 077u, 0u) << entry.path();
  }
}

TEST_F(EmbeddedStoreTest, StopEndsTheServerAndTheNextStartHasItsData) {
  auto store = Start();
  Run({"SET", "name", "value"});
  const pid_t pid = ServerPid();

  store->Stop();
  EXPECT_EQ(kill(pid, 0), -1);
  store->Stop();
  store.reset();

  store = Start();
  EXPECT_EQ(Run({"GET", "name"}).text, "value");
}

TEST_F(EmbeddedStoreTest, ServerThatIgnoresSigtermIsKilled) {
  EmbeddedStoreOptions options = Options();
  options.stop_patience = milliseconds(50);
  const auto store = Start(options);
  const pid_t pid = ServerPid();
  kill(pid, SIGSTOP);

  store->Stop();

  EXPECT_EQ(kill(pid, 0), -1);
}

TEST_F(EmbeddedStoreTest, SecondStoreOnTheSameDirectoryIsRefused) {
  const auto store = Start();

  EXPECT_THAT(StartProblem(Options()),
              StartsWith("data directory " + data_ + ": is in use by the lockkeeperd with "));
  EXPECT_EQ(Run({"PING"}).text, "PONG");
}

TEST_F(EmbeddedStoreTest, KilledServerIsStartedAgainWithItsData) {
  const auto store = Start();
  Run({"SET", "name", "value"});

  for (size_t round = 1; round <= 3; ++round) {
    kill(ServerPid(), SIGKILL);
    EXPECT_THAT(events_.Await(Kind::kEnded, round),
                HasSubstr("redis-server was killed by signal 9 (Killed)"));
    events_.Await(Kind::kStarted, round + 1);
    EXPECT_EQ(Run({"GET", "name"}).text, "value");
  }
}

TEST_F(EmbeddedStoreTest, ServerThatFailsToRestartIsTriedAgain) {
  const auto store = Start();
  Run({"SET", "name", "value"});
  const std::string manifest = data_ + "/appendonlydir/appendonly.aof.manifest";
  std::filesystem::rename(manifest, manifest + ".kept");
  std::ofstream(manifest) << "garbage\n";

  kill(ServerPid(), SIGKILL);
  EXPECT_THAT(events_.Await(Kind::kStartFailed, 2), HasSubstr("its last output"));

  std::filesystem::rename(manifest + ".kept", manifest);
  events_.Await(Kind::kStarted, 2);
  EXPECT_EQ(Run({"GET", "name"}).text, "value");
}

TEST_F(EmbeddedStoreTest, StopDuringThePauseBeforeARestartDoesNotWaitForIt) {
  EmbeddedStoreOptions options = Options();
  options.restart_pause_first = options.restart_pause_max = std::chrono::hours(1);
  auto store = Start(options);
  kill(ServerPid(), SIGKILL);
  events_.Await(Kind::kEnded);

  store->Stop();
  store.reset();

  EXPECT_NE(Start(), nullptr) << "the folder is still in use";
}

TEST_F(EmbeddedStoreTest, ProgramThatEndsAtOnceIsReportedWithItsLastWords) {
  EmbeddedStoreOptions options = Options();
  options.program = MakeProgram("echo something is wrong; exit 3");

  EXPECT_EQ(StartProblem(options), options.program + " ended with exit code 3; its last output (" +
                                       data_ + "/redis.log):\nsomething is wrong");
}

TEST_F(EmbeddedStoreTest, ProgramThatNeverAnswersIsKilledAndReported) {
  EmbeddedStoreOptions options = Options();
  options.start_patience = milliseconds(50);
  options.program = MakeProgram("exec sleep 1000");

  EXPECT_EQ(StartProblem(options), options.program + " does not answer within 50ms");
}

TEST_F(EmbeddedStoreTest, ProgramThatIsNoneIsReported) {
  EmbeddedStoreOptions options = Options();
  options.program = directory_.Path("program");
  std::ofstream(options.program) << "text";
  chmod(options.program.c_str(), 0700);

  EXPECT_EQ(StartProblem(options), "cannot start " + options.program + ": Exec format error");
}

TEST_F(EmbeddedStoreTest, ServerInheritsTheLockAndNothingElse) {
  const int ours = open("/dev/zero", O_RDONLY);  // Without O_CLOEXEC.
  const auto store = Start();
  const pid_t pid = ServerPid();

  std::multiset<std::string> open_files;
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/fd")) {
    std::error_code closed;  // The server may close one while we look.
    open_files.insert(std::filesystem::read_symlink(entry.path(), closed));
  }
  close(ours);

  EXPECT_EQ(open_files.count(data_ + "/lock"), 1u);
  EXPECT_EQ(open_files.count("/dev/zero"), 0u);
  EXPECT_EQ(open_files.count("/dev/null"), 1u);
  EXPECT_NE(getsid(pid), getsid(0));  // A Ctrl-C in the daemon's terminal does not reach it.
}

// A process that runs the store and can be killed.
class EmbeddedStoreHostTest : public EmbeddedStoreTest {
 protected:
  std::unique_ptr<ChildProcess> StartHost() {
    auto host = std::make_unique<ChildProcess>(support::ChildProcessOptions{
        .command = {EMBEDDED_STORE_HOST_PROGRAM, data_}, .output_file = Output()});
    for (;;) {
      std::ifstream output(Output());
      std::string line;
      if (std::getline(output, line) && !output.eof()) return host;
      if (host->WaitForEnd(milliseconds(5))) return host;
    }
  }

  std::string Output() const { return directory_.Path("output"); }
};

TEST_F(EmbeddedStoreHostTest, KilledDaemonLeavesNoServerAndItsDataIsThereForTheNextOne) {
  for (int round = 0; round < 5; ++round) {
    std::filesystem::remove(Output());
    const auto host = StartHost();
    Run({"INCR", "rounds"});
    const pid_t pid = ServerPid();

    host->Kill();

    EmbeddedStoreOptions options = Options();
    options.lock_patience = kPatience;  // The lock is free once the server is really gone.
    const auto store = Start(options);
    EXPECT_NE(ServerPid(), pid);
    EXPECT_EQ(Run({"GET", "rounds"}).text, std::to_string(round + 1));
  }
}

TEST_F(EmbeddedStoreHostTest, DaemonThatIsKilledWhileStartingLeavesTheDirectoryUsable) {
  for (int round = 0; round < 20; ++round) {
    {
      ChildProcess host({.command = {EMBEDDED_STORE_HOST_PROGRAM, data_}});
      host.WaitForEnd(milliseconds(round));
    }
    EmbeddedStoreOptions options = Options();
    options.lock_patience = kPatience;
    EXPECT_EQ(StartProblem(options), "started");
  }
}

TEST_F(EmbeddedStoreHostTest, StoppedDaemonEndsInOrder) {
  const auto host = StartHost();

  host->Signal(SIGTERM);

  EXPECT_EQ(host->WaitForEnd(kPatience)->exit_code, 0);
  EXPECT_THROW(Run({"PING"}), std::runtime_error);
}

}  // namespace
}  // namespace lockkeeper::embedded
