// SPDX-License-Identifier: Apache-2.0
// Each kind of value: what is taken, what is refused and how it is shown again.
#include "config/setting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "config/settings.h"

namespace lockkeeper::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

RawValue Text(std::string text) {
  return {.shape = RawValue::Shape::kText, .texts = {std::move(text)}};
}

RawValue List(std::vector<std::string> texts) {
  return {.shape = RawValue::Shape::kList, .texts = std::move(texts)};
}

struct Case {
  std::string key;
  std::string text;
  std::string problem = "";  // Empty: it is taken.
};

void ExpectTakenOrRefused(const Case& expected) {
  SCOPED_TRACE(expected.key + ": " + expected.text);
  const Setting* setting = FindByKey(expected.key);
  ASSERT_NE(setting, nullptr);
  Config config;
  const std::vector<std::string> before = Show(*setting, config).texts;

  const text::Problem problem = Assign(*setting, Text(expected.text), config);

  if (expected.problem.empty()) {
    EXPECT_EQ(problem, std::nullopt);
    EXPECT_THAT(Show(*setting, config).texts, ElementsAre(expected.text));
  } else {
    EXPECT_THAT(problem.value_or("taken"), HasSubstr(expected.problem));
    EXPECT_EQ(Show(*setting, config).texts, before);
  }
}

TEST(ValueTest, TruthValueIsTakenOrRefused) {
  const Case cases[] = {{"store.embedded", "true"},
                        {"store.embedded", "false"},
                        {"store.embedded", "yes", R"(must be true or false, is "yes")"},
                        {"store.embedded", "True", "true or false"},
                        {"store.embedded", "1", "true or false"},
                        {"store.embedded", "", "true or false"}};
  for (const Case& expected : cases) ExpectTakenOrRefused(expected);
}

TEST(ValueTest, WordOfTheStoreIsTakenOrRefused) {
  const Case cases[] = {
      {"store.quarantine", "off"},
      {"store.quarantine", "until_restored"},
      {"store.quarantine", "maybe", R"(must be on, until_restored or off, is "maybe")"},
      {"store.first_use", "quarantine"},
      {"store.first_use", "deny", R"(must be grant or quarantine, is "deny")"}};
  for (const Case& expected : cases) ExpectTakenOrRefused(expected);
}

TEST(ValueTest, FractionIsTakenOrRefused) {
  const Case cases[] = {{"traces.sample_ratio", "0"},
                        {"traces.sample_ratio", "1"},
                        {"traces.sample_ratio", "0.01"},
                        {"traces.sample_ratio", "0.123456789"},
                        {"traces.sample_ratio", "1.0000001", "must be from 0 to 1, is 1.0000001"},
                        {"traces.sample_ratio", "-0.1", "must be from 0 to 1, is -0.1"},
                        {"traces.sample_ratio", "100", "must be from 0 to 1, is 100"},
                        {"traces.sample_ratio", "1e999", "must be from 0 to 1"},
                        {"traces.sample_ratio", "nan", R"(must be a number, is "nan")"},
                        {"traces.sample_ratio", "inf", "must be from 0 to 1"},
                        {"traces.sample_ratio", "1%", R"(must be a number, is "1%")"},
                        {"traces.sample_ratio", "0,5", "must be a number"},
                        {"traces.sample_ratio", " 1", "must be a number"},
                        {"traces.sample_ratio", "", "must be a number"}};
  for (const Case& expected : cases) ExpectTakenOrRefused(expected);
}

TEST(ValueTest, NumberIsTakenOrRefused) {
  const Case cases[] = {{"store.connections", "1"},
                        {"store.connections", "64"},
                        {"store.connections", "0", "must be from 1 to 64, is 0"},
                        {"store.connections", "65", "must be from 1 to 64, is 65"},
                        {"store.connections", "-1", "must be from 1 to 64, is -1"},
                        {"store.connections", "99999999999999999999", "must be from 1 to 64"},
                        {"store.connections", "4294967297", "must be from 1 to 64"},
                        {"store.connections", "2x", R"(must be a whole number, is "2x")"},
                        {"store.connections", "2.0", "whole number"},
                        {"store.connections", "", "whole number"},
                        {"store.connections", "two", "whole number"}};
  for (const Case& expected : cases) ExpectTakenOrRefused(expected);
}

TEST(ValueTest, DurationIsTakenOrRefused) {
  const Case cases[] = {
      {"store.request_timeout", "10ms"},
      {"store.request_timeout", "1m"},
      {"store.request_timeout", "9ms", "must be from 10ms to 1m, is 9ms"},
      {"store.request_timeout", "61s", "must be from 10ms to 1m, is 61s"},
      {"store.request_timeout", "1000", "is a bare number"},
      {"store.first_use_wait", "0s"},
      {"store.first_use_wait", "1m"},
      {"store.first_use_wait", "61s", "must be from 0s to 1m, is 61s"},
      {"server.max_connection_age", "0s"},
      {"server.max_connection_age", "1s"},
      {"server.max_connection_age", "24h"},
      {"server.max_connection_age", "999ms", "must be 0s, or from 1s to 24h, is 999ms"},
      {"server.max_connection_age", "25h", "must be 0s, or from 1s to 24h, is 25h"},
      {"drain.timeout", "0s"},
      {"drain.timeout", "601s", "must be from 0s to 10m, is 601s"},
      {"lease.max_ttl", "24h"},
      {"lease.max_ttl", "999ms", "must be from 1s to 24h, is 999ms"},
      {"lease.max_ttl", "25h", "must be from 1s to 24h, is 25h"},
      {"lease.default_ttl", "100ms"},
      {"lease.default_ttl", "99ms", "must be from 100ms to 24h, is 99ms"},
      {"waiters.max_wait", "0s"},
      {"waiters.max_wait", "25h", "must be from 0s to 24h, is 25h"},
      {"store.record_retention", "1s"},
      {"store.record_retention", "24h"},
      {"store.record_retention", "0s", "must be from 1s to 24h, is 0s"}};
  for (const Case& expected : cases) ExpectTakenOrRefused(expected);
}

TEST(ValueTest, WordIsTakenOrRefused) {
  const Case cases[] = {{"log.format", "json"},
                        {"log.format", "text"},
                        {"log.format", "xml", R"(must be text or json, is "xml")"},
                        {"log.level", "debug"},
                        {"log.level", "info"},
                        {"log.level", "warn"},
                        {"log.level", "error"},
                        {"log.level", "INFO", R"(must be debug, info, warn or error, is "INFO")"},
                        {"log.level", "", "debug, info, warn or error"}};
  for (const Case& expected : cases) ExpectTakenOrRefused(expected);
}

TEST(ValueTest, TextIsTakenOrRefused) {
  const Case cases[] = {
      {"store.data_dir", "/srv/l\xc3\xb6"},
      {"store.data_dir", ""},
      {"store.data_dir", "/a\nb", "contains a control character"},
      {"store.data_dir", "/\xff", "is not valid UTF-8"},
      {"store.key_prefix", std::string(64, 'k')},
      {"store.key_prefix", "", "must be 1 to 64 bytes, has 0"},
      {"store.key_prefix", std::string(65, 'k'), "must be 1 to 64 bytes, has 65"},
      {"store.key_prefix", "a{b", "hash tag"},
      {"store.key_prefix", "a}b", "hash tag"},
      {"store.redis_tls_server_name", ""},
      {"store.redis_tls_server_name", "redis-1.example_2.org"},
      {"store.redis_tls_server_name", "2001:db8::1"},
      {"store.redis_tls_server_name", std::string(255, 'n')},
      {"store.redis_tls_server_name", std::string(256, 'n'), "of at most 255 bytes"},
      {"store.redis_tls_server_name", "[::1]", "without brackets"},
      {"store.redis_tls_server_name", "*.example.org", "must be a host name"},
      {"server.http_listen", ""},
      {"server.http_listen", "[::1]:0"},
      {"server.http_listen", "unix:/x", "only gRPC has unix sockets"},
      {"server.http_listen", "7601", "has no port"}};
  for (const Case& expected : cases) ExpectTakenOrRefused(expected);
}

TEST(SettingTest, ListTakesWhatEveryEntryAllows) {
  const Setting& listen = *FindByKey("server.listen");
  Config config;

  EXPECT_EQ(Assign(listen, List({"127.0.0.1:1", "unix:/x"}), config), std::nullopt);
  EXPECT_THAT(config.server.listen, ElementsAre("127.0.0.1:1", "unix:/x"));

  EXPECT_THAT(Assign(listen, List({"127.0.0.1:2", "bad"}), config).value_or(""),
              HasSubstr(R"("bad" has no port)"));
  EXPECT_THAT(Assign(listen, List({}), config).value_or(""), HasSubstr("at least one entry"));
  EXPECT_THAT(config.server.listen, ElementsAre("127.0.0.1:1", "unix:/x"));
}

TEST(SettingTest, ListTakesASingleValue) {
  const Setting& listen = *FindByKey("server.listen");
  Config config;

  EXPECT_EQ(Assign(listen, Text("127.0.0.1:3"), config), std::nullopt);
  EXPECT_THAT(config.server.listen, ElementsAre("127.0.0.1:3"));
  EXPECT_THAT(Assign(listen, Text("bad"), config).value_or(""), HasSubstr("has no port"));
}

TEST(SettingTest, SingleValueTakesNoList) {
  Config config;

  EXPECT_THAT(Assign(*FindByKey("store.connections"), List({"1"}), config).value_or(""),
              HasSubstr("must be one value, is a list"));
}

TEST(SettingTest, RefusedSecretIsNotShown) {
  Config config;

  const text::Problem problem =
      Assign(*FindByKey("store.redis"), Text("http://u:sesame@h"), config);

  ASSERT_TRUE(problem.has_value());
  EXPECT_THAT(*problem, Not(HasSubstr("sesame")));
}

TEST(SettingTest, SecretIsShownMasked) {
  Config config;

  ASSERT_EQ(Assign(*FindByKey("store.redis"), Text("redis://u:sesame@h:1"), config), std::nullopt);

  EXPECT_EQ(config.store.redis.reveal(), "redis://u:sesame@h:1");
  EXPECT_THAT(Show(*FindByKey("store.redis"), config).texts, ElementsAre("redis://u:***@h:1"));
}

TEST(SettingTest, LongRefusedValueIsCut) {
  Config config;

  const text::Problem problem =
      Assign(*FindByKey("log.level"), Text(std::string(10'000, 'x')), config);

  EXPECT_LT(problem.value_or(std::string(10'000, ' ')).size(), 200U);
}

// --- the table --------------------------------------------------------------------------------

TEST(SettingsTest, KeysFlagsAndVariablesAreUnique) {
  std::set<std::string> names;
  for (const Setting& setting : Settings()) {
    EXPECT_TRUE(names.insert(std::string(setting.key)).second) << setting.key;
    EXPECT_TRUE(names.insert(EnvironmentName(setting)).second) << setting.key;
    if (!setting.flag.empty()) {
      EXPECT_TRUE(names.insert(std::string(setting.flag)).second) << setting.key;
    }
    if (!setting.environment_alias.empty()) {
      EXPECT_TRUE(names.insert(std::string(setting.environment_alias)).second) << setting.key;
    }
  }
}

TEST(SettingsTest, SettingsOfASectionStandTogether) {
  std::set<std::string_view> ended;
  std::string_view section;
  for (const Setting& setting : Settings()) {
    if (setting.section() == section) continue;
    EXPECT_TRUE(ended.insert(section).second) << setting.key;
    section = setting.section();
  }
}

// So that a range which leaves out its own default is noticed.
TEST(SettingsTest, DefaultsAreTakenByTheirOwnSettings) {
  const Config defaults;
  for (const Setting& setting : Settings()) {
    Config config;
    EXPECT_EQ(Assign(setting, Show(setting, defaults), config), std::nullopt) << setting.key;
    EXPECT_EQ(Show(setting, config).texts, Show(setting, defaults).texts) << setting.key;
  }
}

// Each entry has to reach its own field: a change of one setting shows in no other.
TEST(SettingsTest, EachSettingHasItsOwnField) {
  for (const Setting& setting : Settings()) {
    Config config;
    for (const std::string text :
         {"true", "7", "77", "777", "7s", "json", "debug", "redis://h", "/x", "h:7", "quarantine",
          "off", "durable", "fsynced", "p max_ttl=7s", "http://h", "0.5"}) {
      const RawValue value = setting.is_list() ? List({text}) : Text(text);
      if (!Assign(setting, value, config) &&
          Show(setting, config).texts != Show(setting, {}).texts) {
        break;
      }
    }
    for (const Setting& other : Settings()) {
      const bool differs = Show(other, config).texts != Show(other, {}).texts;
      EXPECT_EQ(differs, &other == &setting) << setting.key << " and " << other.key;
    }
  }
}

TEST(SettingsTest, EnvironmentNameIsTheKeyInCapitals) {
  EXPECT_EQ(EnvironmentName(*FindByKey("store.redis_password_file")),
            "LOCKKEEPERD_STORE_REDIS_PASSWORD_FILE");
}

TEST(SettingsTest, AreFoundByEveryName) {
  EXPECT_EQ(FindByKey("server.listen")->key, "server.listen");
  EXPECT_EQ(FindByFlag("--listen")->key, "server.listen");
  EXPECT_EQ(FindByEnvironment("LOCKKEEPERD_SERVER_LISTEN")->key, "server.listen");
  EXPECT_EQ(FindByEnvironment("LOCKKEEPERD_REDIS_PASSWORD_FILE")->key, "store.redis_password_file");
  EXPECT_EQ(FindByKey("listen"), nullptr);
  EXPECT_EQ(FindByKey(""), nullptr);
  EXPECT_EQ(FindByFlag(""), nullptr);
  EXPECT_EQ(FindByEnvironment(""), nullptr);
  EXPECT_EQ(FindByEnvironment("lockkeeperd_server_listen"), nullptr);
}

}  // namespace
}  // namespace lockkeeper::config
