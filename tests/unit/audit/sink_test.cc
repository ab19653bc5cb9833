// SPDX-License-Identifier: Apache-2.0
#include "audit/sink.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <iterator>

#include "core/errors.h"
#include "os/descriptor.h"
#include "support/process/temporary_directory.h"

namespace lockkeeper::audit {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

class SinkTest : public testing::Test {
 protected:
  static std::string Read(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  // Writes all of it. Fails the test on a problem.
  static void WriteAll(Sink& sink, std::string_view lines) {
    while (!lines.empty()) {
      const Written written = sink.Write(lines);
      ASSERT_EQ(written.problem, std::nullopt);
      lines.remove_prefix(written.bytes);
    }
  }

  support::TemporaryDirectory directory_;
  const std::string path_ = directory_.Path("audit.jsonl");
};

TEST_F(SinkTest, FileIsMadeForItsOwnerOnlyAndAppendedTo) {
  WriteAll(**OpenSink(path_), "one\n");
  WriteAll(**OpenSink(path_), "two\n");

  EXPECT_EQ(Read(path_), "one\ntwo\n");
  struct stat status{};
  ASSERT_EQ(stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
}

TEST_F(SinkTest, FileThatWasRenamedIsLeftAtReopen) {
  const auto sink = *OpenSink(path_);
  WriteAll(*sink, "one\n");
  const std::string old = directory_.Path("audit.1");
  ASSERT_EQ(std::rename(path_.c_str(), old.c_str()), 0);
  WriteAll(*sink, "two\n");
  EXPECT_EQ(sink->Reopen(), std::nullopt);
  WriteAll(*sink, "three\n");

  EXPECT_EQ(Read(old), "one\ntwo\n");
  EXPECT_EQ(Read(path_), "three\n");
}

// An earlier process was killed while it wrote.
TEST_F(SinkTest, FileThatEndsInALineGetsItsNewlineFirst) {
  std::ofstream(path_) << "{\"time\":\"20";
  WriteAll(**OpenSink(path_), "one\n");

  EXPECT_EQ(Read(path_), "{\"time\":\"20\none\n");
}

TEST_F(SinkTest, FileThatCannotBeOpenedIsNamed) {
  const auto sink = OpenSink(directory_.Path("none/audit"));

  EXPECT_EQ(core::ReasonOf(sink.status()), core::ErrorReason::kAuditUnavailable);
  EXPECT_THAT(
      std::string(sink.status().message()),
      testing::AllOf(HasSubstr("audit.to: "), HasSubstr("none/audit cannot be opened: No")));
}

TEST_F(SinkTest, FullDiskIsAProblemAndNothingIsTaken) {
  const auto sink = *OpenSink("/dev/full");
  const Written written = sink->Write("one\n");

  EXPECT_EQ(written.bytes, 0U);
  EXPECT_EQ(written.problem, "No space left on device");
}

// The folder is away for a while.
TEST_F(SinkTest, FailedReopenIsTriedAgain) {
  const std::string folder = directory_.Path("logs");
  const std::string away = directory_.Path("away");
  ASSERT_EQ(mkdir(folder.c_str(), 0700), 0);
  const auto sink = *OpenSink(folder + "/audit");
  ASSERT_EQ(std::rename(folder.c_str(), away.c_str()), 0);
  EXPECT_NE(sink->Reopen(), std::nullopt);
  EXPECT_NE(sink->Write("one\n").problem, std::nullopt);
  ASSERT_EQ(std::rename(away.c_str(), folder.c_str()), 0);
  WriteAll(*sink, "one\n");

  EXPECT_EQ(Read(folder + "/audit"), "one\n");
}

TEST_F(SinkTest, PipeNeedsAReaderAndThenNeverBlocks) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_THAT(std::string(OpenSink(path_).status().message()), HasSubstr("nobody reads this pipe"));

  const os::Descriptor reader(open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  const auto sink = *OpenSink(path_);
  const std::string text(1'000, 'x');
  size_t taken = 0;
  for (;;) {
    const Written written = sink->Write(text);
    ASSERT_EQ(written.problem, std::nullopt);
    if (written.bytes == 0) break;
    taken += written.bytes;
  }
  EXPECT_GE(taken, 4'096U);
  std::string buffer(taken, ' ');
  EXPECT_GT(read(reader.get(), buffer.data(), buffer.size()), 0);
  EXPECT_GT(sink->Write(text).bytes, 0U);
}

class SyslogTest : public SinkTest {
 protected:
  void Listen() {
    unlink(path_.c_str());
    socket_ = os::Descriptor(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof(address.sun_path) - 1);
    ASSERT_EQ(bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  }
  std::string Receive() {
    std::array<char, 1'000> buffer;
    const ssize_t size = recv(socket_.get(), buffer.data(), buffer.size(), 0);
    return {buffer.data(), static_cast<size_t>(std::max<ssize_t>(size, 0))};
  }

  os::Descriptor socket_;
};

TEST_F(SyslogTest, EachLineIsAMessage) {
  Listen();
  const auto sink = *OpenSyslog(path_);
  WriteAll(*sink, "{\"verb\":\"acquire\"}\n{\"verb\":\"release\"}\n");

  const std::string header = R"(<86>[A-Z][a-z][a-z] [ 0-9][0-9] [0-9:]+ lockkeeperd\[[0-9]+\]: )";
  EXPECT_THAT(Receive(), MatchesRegex(header + R"(\{"verb":"acquire"\})"));
  EXPECT_THAT(Receive(), MatchesRegex(header + R"(\{"verb":"release"\})"));
}

TEST_F(SyslogTest, DaemonThatIsRestartedIsFoundAgain) {
  EXPECT_THAT(std::string(OpenSyslog(path_).status().message()), HasSubstr("no syslog daemon at"));
  Listen();
  const auto sink = *OpenSyslog(path_);
  socket_ = {};
  EXPECT_NE(sink->Write("one\n").problem, std::nullopt);
  EXPECT_NE(sink->Write("one\n").problem, std::nullopt) << "still away";
  Listen();
  WriteAll(*sink, "one\n");

  EXPECT_THAT(Receive(), HasSubstr(": one"));
}

}  // namespace
}  // namespace lockkeeper::audit
