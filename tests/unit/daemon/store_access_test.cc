// SPDX-License-Identifier: Apache-2.0
#include "daemon/store_access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "support/process/temporary_directory.h"

namespace lockkeeper::daemon {
namespace {

using testing::HasSubstr;

class StoreAccessTest : public testing::Test {
 protected:
  StoreAccessTest() {
    directory_.Replace("redis", "of-redis\n");
    directory_.Replace("sentinel", "of-sentinels\n");
  }

  StoreAccess Load(const std::string& url) {
    config_.redis = text::Secret(url);
    absl::StatusOr<StoreAccess> access = LoadStoreAccess(config_);
    EXPECT_TRUE(access.ok()) << access.status();
    return *std::move(access);
  }

  support::TemporaryDirectory directory_;
  config::StoreConfig config_;
};

TEST_F(StoreAccessTest, PasswordOfAFileIsThatOfEachServerOfACluster) {
  config_.redis_password_file = directory_.Path("redis");
  const StoreAccess access = Load("redis+cluster://lockkeeper@a:1,b:2");

  EXPECT_EQ(access.url.server.CurrentPassword().reveal(), "of-redis");
  ASSERT_EQ(access.url.cluster.size(), 2U);
  for (const redis::RedisUrl& server : access.url.cluster) {
    EXPECT_EQ(server.CurrentPassword().reveal(), "of-redis");
    EXPECT_EQ(server.user, "lockkeeper");
  }
  ASSERT_FALSE(access.password->Take({"another"}));
  EXPECT_EQ(access.url.cluster[1].CurrentPassword().reveal(), "another");
}

TEST_F(StoreAccessTest, SentinelsHaveAPasswordOfTheirOwn) {
  config_.redis_password_file = directory_.Path("redis");
  config_.sentinel_user = "watcher";
  config_.sentinel_password_file = directory_.Path("sentinel");
  const StoreAccess access = Load("redis+sentinel://lockkeeper@a:1,b:2/mymaster");

  EXPECT_EQ(access.url.server.CurrentPassword().reveal(), "of-redis");
  ASSERT_EQ(access.url.sentinels.size(), 2U);
  for (const redis::RedisUrl& sentinel : access.url.sentinels) {
    EXPECT_EQ(sentinel.CurrentPassword().reveal(), "of-sentinels");
    EXPECT_EQ(sentinel.user, "watcher");
  }
  ASSERT_FALSE(access.sentinel_password->Take({"another"}));
  EXPECT_EQ(access.url.sentinels[0].CurrentPassword().reveal(), "another");
  EXPECT_EQ(access.url.server.CurrentPassword().reveal(), "of-redis");
}

TEST_F(StoreAccessTest, WithoutFilesTheUrlHasThePasswordAndSentinelsHaveNone) {
  const StoreAccess access = Load("redis+sentinel://lockkeeper:of-url@a:1/mymaster");

  EXPECT_EQ(access.url.server.CurrentPassword().reveal(), "of-url");
  EXPECT_EQ(access.url.sentinels[0].CurrentPassword().reveal(), "");
  EXPECT_EQ(access.password, nullptr);
}

TEST_F(StoreAccessTest, FileThatIsGoneIsAnError) {
  config_.redis = text::Secret("redis://a:1");
  config_.redis_password_file = directory_.Path("gone");

  EXPECT_THAT(
      std::string(LoadStoreAccess(config_).status().message()),
      HasSubstr("store.redis_password_file: \"" + directory_.Path("gone") + "\" cannot be"));
}

}  // namespace
}  // namespace lockkeeper::daemon
