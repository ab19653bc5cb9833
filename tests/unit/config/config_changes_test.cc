// SPDX-License-Identifier: Apache-2.0
#include "config/config_changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "config/config_loader.h"
#include "config/settings.h"

namespace lockkeeper::config {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

TEST(ConfigChangesTest, EqualConfigurationsHaveNone) {
  const ConfigChanges changes = Compare(Config(), Config());

  EXPECT_THAT(changes.reloadable, IsEmpty());
  EXPECT_THAT(changes.need_restart, IsEmpty());
}

TEST(ConfigChangesTest, ReloadableSettingsHaveOldAndNewValue) {
  Config next;
  next.lease.max_ttl = std::chrono::minutes(5);
  next.lease.by_prefix = {"a max_ttl=1m", "b max_ttl=2m"};
  next.log.level = LogLevel::kDebug;

  const ConfigChanges changes = Compare(Config(), next);

  EXPECT_THAT(changes.need_restart, IsEmpty());
  ASSERT_THAT(changes.reloadable, SizeIs(3));
  EXPECT_EQ(changes.reloadable[0].key, "lease.max_ttl");
  EXPECT_EQ(changes.reloadable[0].before, "1m");
  EXPECT_EQ(changes.reloadable[0].after, "5m");
  EXPECT_EQ(changes.reloadable[1].key, "lease.by_prefix");
  EXPECT_EQ(changes.reloadable[1].before, "");
  EXPECT_EQ(changes.reloadable[1].after, "a max_ttl=1m, b max_ttl=2m");
  EXPECT_EQ(changes.reloadable[2].key, "log.level");
  EXPECT_EQ(changes.reloadable[2].after, "debug");
}

TEST(ConfigChangesTest, OthersAreNamedOnly) {
  Config next;
  next.server.listen = {"127.0.0.1:1"};
  next.store.redis = text::Secret("redis://:secret@h:1");
  next.store.embedded = true;
  next.store.connections = 3;
  next.store.first_use = FirstUse::kQuarantine;
  next.drain.timeout = Millis(1);

  const ConfigChanges changes = Compare(Config(), next);

  EXPECT_THAT(changes.reloadable, IsEmpty());
  EXPECT_THAT(changes.need_restart,
              ElementsAre("server.listen", "store.redis", "store.embedded", "store.connections",
                          "store.first_use", "drain.timeout"));
}

TEST(ConfigChangesTest, OnlyReloadableSettingsAreTakenOver) {
  Config in_use;
  in_use.store.connections = 5;
  in_use.log.format = LogFormat::kJson;
  Config next;
  next.lease.default_ttl = Millis(1'000);
  next.waiters.per_lock_max = 7;

  const Config now = WithReloadable(in_use, next);

  EXPECT_THAT(Compare(in_use, now).need_restart, IsEmpty());
  EXPECT_THAT(Compare(in_use, now).reloadable, SizeIs(2));
  EXPECT_THAT(Compare(next, now).reloadable, IsEmpty());
  EXPECT_EQ(now.store.connections, 5);
}

// What the page promises. A secret would be logged with its old and new value.
TEST(ConfigChangesTest, ReloadableSettingsAreThese) {
  std::set<std::string_view> reloadable;
  for (const Setting& setting : Settings()) {
    if (!setting.reloadable) continue;
    reloadable.insert(setting.key);
    EXPECT_FALSE(setting.is_secret()) << setting.key;
  }
  EXPECT_THAT(reloadable, ElementsAre("lease.by_prefix", "lease.default_ttl", "lease.max_ttl",
                                      "log.level", "waiters.max_wait", "waiters.per_lock_max",
                                      "waiters.per_principal_max", "waiters.slow_wait"));
}

TEST(ConfigChangesTest, TextThatWasReadCountsAndNotTheFile) {
  const auto loaded = ReadConfig({.file = "none.yaml", .file_text = "lease: {max_ttl: 2m}\n"});

  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->config.lease.max_ttl, std::chrono::minutes(2));
  EXPECT_EQ(loaded->file_text, "lease: {max_ttl: 2m}\n");
  EXPECT_EQ(loaded->origins.find("lease.max_ttl")->second, "none.yaml:1");
}

}  // namespace
}  // namespace lockkeeper::config
