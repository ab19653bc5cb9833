// SPDX-License-Identifier: Apache-2.0
#include "embedded/server_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "core/errors.h"
#include "support/process/temporary_directory.h"

namespace lockkeeper::embedded {
namespace {

using ::testing::HasSubstr;

class FindServerProgramTest : public testing::Test {
 protected:
  FindServerProgramTest() {
    std::filesystem::create_directory(directory_.Path("a"));
    std::filesystem::create_directory(directory_.Path("b"));
  }

  std::string MakeProgram(const std::string& name, mode_t mode = 0700) {
    std::ofstream(directory_.Path(name)) << "#!/bin/sh\n";
    chmod(directory_.Path(name).c_str(), mode);
    return directory_.Path(name);
  }

  std::string SearchPath() const { return directory_.Path("a") + "::" + directory_.Path("b"); }

  std::string Problem(const std::string& configured) const {
    const auto program = FindServerProgram(configured, SearchPath());
    if (program.ok()) return "found " + *program;
    EXPECT_EQ(core::ReasonOf(program.status()), core::ErrorReason::kStoreUnavailable);
    return std::string(program.status().message());
  }

  support::TemporaryDirectory directory_;
};

TEST_F(FindServerProgramTest, RedisIsTakenBeforeValkeyWhereverItIs) {
  const std::string valkey = MakeProgram("a/valkey-server");
  EXPECT_EQ(*FindServerProgram("", SearchPath()), valkey);

  const std::string redis = MakeProgram("b/redis-server");
  EXPECT_EQ(*FindServerProgram("", SearchPath()), redis);
}

TEST_F(FindServerProgramTest, NothingFoundNamesThePackage) {
  EXPECT_EQ(Problem(""),
            "the embedded store needs redis-server or valkey-server, and neither is in PATH: "
            "install the package redis-server, or set store.embedded_program");
}

TEST_F(FindServerProgramTest, ConfiguredProgramIsTakenByPathOrByName) {
  const std::string program = MakeProgram("b/my-server");

  EXPECT_EQ(*FindServerProgram(program, ""), program);
  EXPECT_EQ(*FindServerProgram("my-server", SearchPath()), program);
}

TEST_F(FindServerProgramTest, ConfiguredProgramThatCannotRunIsNamed) {
  EXPECT_EQ(Problem("my-server"), "store.embedded_program: my-server is not in PATH");
  EXPECT_EQ(Problem("/nowhere/redis-server"),
            "store.embedded_program: cannot run /nowhere/redis-server: No such file or directory");
  EXPECT_THAT(Problem(MakeProgram("a/text", 0600)), HasSubstr("Permission denied"));
}

TEST(ServerSettingsTest, PathsOfAnyBytesAreQuoted) {
  const std::string settings = ServerSettings("/var/my \"dir\"", "/run/a#b\n/redis.sock");

  EXPECT_THAT(settings, HasSubstr("\ndir \"/var/my\\x20\\x22dir\\x22\"\n"));
  EXPECT_THAT(settings, HasSubstr("\nunixsocket \"/run/a\\x23b\\x0a/redis.sock\"\n"));
}

TEST(SocketUrlTest, BytesThatMeanSomethingInAUrlAreEncoded) {
  EXPECT_EQ(SocketUrl("/var/lib/lock-keeper_1.0~x/redis.sock"),
            "unix:///var/lib/lock-keeper_1.0~x/redis.sock");
  EXPECT_EQ(SocketUrl("/a b?c%d@\xc3\xa9"), "unix:///a%20b%3fc%25d%40%c3%a9");
}

}  // namespace
}  // namespace lockkeeper::embedded
