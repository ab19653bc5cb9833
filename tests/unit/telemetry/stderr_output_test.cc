// SPDX-License-Identifier: Apache-2.0
// The real output: order, completeness at the end, and that a standard error which nobody reads
// costs lines and no time.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <sstream>
#include <thread>

#include "telemetry/log.h"

namespace lockkeeper::telemetry {
namespace {

// Standard error leads into a pipe as long as this lives.
class StderrPipe {
 public:
  StderrPipe() : saved_(dup(STDERR_FILENO)) {
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) ADD_FAILURE() << "no pipe";
    reading_ = ends[0];
    dup2(ends[1], STDERR_FILENO);
    close(ends[1]);
  }
  ~StderrPipe() {
    Restore();
    close(reading_);
  }

  // Takes standard error back, so that the pipe ends.
  void Restore() {
    if (saved_ < 0) return;
    dup2(saved_, STDERR_FILENO);
    close(saved_);
    saved_ = -1;
  }

  std::vector<std::string> ReadLinesToEnd() {
    std::string text;
    std::array<char, 65536> buffer;
    for (ssize_t n = 0; (n = read(reading_, buffer.data(), buffer.size())) > 0;) {
      text.append(buffer.data(), static_cast<size_t>(n));
    }
    std::istringstream stream(text);
    std::vector<std::string> lines;
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
  }

 private:
  int saved_;
  int reading_ = -1;
};

TEST(StderrOutputTest, WritesAllLinesInOrderBeforeItEnds) {
  StderrPipe pipe;
  constexpr int kLines = 1000;

  {
    const std::unique_ptr<LogOutput> output = MakeStderrOutput();
    for (int i = 0; i < kLines; ++i) output->Write("line " + std::to_string(i));
    EXPECT_EQ(output->lost(), 0);
  }
  pipe.Restore();

  const std::vector<std::string> lines = pipe.ReadLinesToEnd();
  ASSERT_THAT(lines, testing::SizeIs(kLines));
  for (int i = 0; i < kLines; ++i)
    EXPECT_EQ(lines[static_cast<size_t>(i)], "line " + std::to_string(i));
}

// Twenty times what the pipe and the queue hold: if Write waited for the reader, this would hang.
TEST(StderrOutputTest, LosesTheOldestLinesWhenNobodyReads) {
  StderrPipe pipe;
  constexpr int64_t kLines = 100'000;
  std::unique_ptr<LogOutput> output = MakeStderrOutput();

  for (int64_t i = 0; i < kLines; ++i) output->Write("line " + std::to_string(i));
  const int64_t lost = output->lost();
  std::vector<std::string> lines;
  std::thread reader([&] { lines = pipe.ReadLinesToEnd(); });
  output.reset();
  pipe.Restore();
  reader.join();

  EXPECT_GT(lost, 0);
  EXPECT_EQ(static_cast<int64_t>(lines.size()), kLines - lost);
  EXPECT_EQ(lines.back(), "line " + std::to_string(kLines - 1));
}

}  // namespace
}  // namespace lockkeeper::telemetry
