// SPDX-License-Identifier: Apache-2.0
#include "redis/client/password_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "support/process/temporary_directory.h"

namespace lockkeeper::redis {
namespace {

using testing::HasSubstr;

class PasswordFileTest : public testing::Test {
 protected:
  absl::StatusOr<std::shared_ptr<PasswordFile>> Load(const std::string& text) {
    directory_.Replace("password", text);
    return PasswordFile::Load({.name = "store.redis_password_file", .path = path_});
  }

  support::TemporaryDirectory directory_;
  const std::string path_ = directory_.Path("password");
};

TEST_F(PasswordFileTest, IsReadWithoutItsLastNewline) {
  for (const std::string text : {"se same", "se same\n", "se same\r\n"}) {
    const auto file = Load(text);
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_EQ((*file)->Current().reveal(), "se same");
    EXPECT_EQ((*file)->contents(), os::Contents{text}) << "so that it is no change";
  }
}

TEST_F(PasswordFileTest, UnusableOneIsRefusedByItsSettingWithoutShowingIt) {
  const auto problem_of = [&](const std::string& text) {
    return std::string(Load(text).status().message());
  };
  const std::string named = "store.redis_password_file: \"" + path_ + "\" ";
  EXPECT_EQ(problem_of(""), named + "is empty");
  EXPECT_EQ(problem_of("\n"), named + "is empty");
  EXPECT_EQ(problem_of("sesame\nopen\n"), named + "has more than one line");
  EXPECT_THAT(problem_of(std::string(4'097, 's')), HasSubstr("has more than 4096 bytes"));
}

TEST_F(PasswordFileTest, AnotherPasswordIsTakenAndAnUnusableOneIsNot) {
  const auto file = Load("old");
  ASSERT_TRUE(file.ok());

  EXPECT_EQ((*file)->Take({"new\n"}), std::nullopt);
  EXPECT_EQ((*file)->Current().reveal(), "new");

  EXPECT_THAT((*file)->Take({""}).value_or(""), HasSubstr("is empty"));
  EXPECT_EQ((*file)->Current().reveal(), "new");
}

}  // namespace
}  // namespace lockkeeper::redis
