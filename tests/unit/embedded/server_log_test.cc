// SPDX-License-Identifier: Apache-2.0
#include "embedded/server_log.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/process/temporary_directory.h"

namespace lockkeeper::embedded {
namespace {

class ServerLogTest : public testing::Test {
 protected:
  void Write(const std::string& text) { std::ofstream(log_.path(), std::ios::app) << text; }

  support::TemporaryDirectory directory_;
  ServerLog log_{directory_.Path("log")};
};

TEST_F(ServerLogTest, TailIsWhatThisRunWrote) {
  EXPECT_EQ(log_.Tail(), "");
  Write("before\n");

  log_.BeginRun();
  EXPECT_EQ(log_.Tail(), "");
  Write("one\ntwo\n");

  EXPECT_EQ(log_.Tail(), "one\ntwo");
}

TEST_F(ServerLogTest, LongTailBeginsWithAWholeLine) {
  log_.BeginRun();
  for (int i = 0; i < 1000; ++i) Write("line " + std::to_string(i) + "\n");

  const std::string tail = log_.Tail();

  EXPECT_LE(tail.size(), 2048u);
  EXPECT_GE(tail.size(), 2000u);
  EXPECT_TRUE(tail.starts_with("line 77")) << tail;
  EXPECT_TRUE(tail.ends_with("\nline 999"));
}

TEST_F(ServerLogTest, LargeFileIsPutAside) {
  Write(std::string(2 << 20, 'x'));

  log_.BeginRun();
  Write("new\n");

  EXPECT_EQ(log_.Tail(), "new");
  EXPECT_EQ(std::filesystem::file_size(log_.path() + ".1"), size_t{2} << 20);
}

}  // namespace
}  // namespace lockkeeper::embedded
