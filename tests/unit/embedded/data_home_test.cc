// SPDX-License-Identifier: Apache-2.0
#include "embedded/data_home.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "core/errors.h"
#include "support/process/temporary_directory.h"

namespace lockkeeper::embedded {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::MatchesRegex;

class DataHomeTest : public testing::Test {
 protected:
  DataHomeTest() { fs::create_directory(data_); }

  static DataHome Look(const std::string& at) {
    const auto home = LookAtHome(at);
    EXPECT_TRUE(home.ok()) << home.status();
    return home.ok() ? *home : DataHome{};
  }
  DataHome Look() const { return Look(data_); }

  std::string File(const std::string& name) const { return data_ + "/appendonlydir/" + name; }

  // Until the clock that files are stamped with has moved on.
  core::WallTime Write(const std::string& name, const std::string& text) const {
    const core::WallTime before = Look().changed;
    core::WallTime after = before;
    while (after == before) {
      std::ofstream(File(name)) << text;
      after = Look().changed;
    }
    return after;
  }

  support::TemporaryDirectory directory_;
  const std::string data_ = directory_.Path("data");
};

TEST_F(DataHomeTest, FolderIsMadeForItsOwnerOnly) {
  EXPECT_THAT(Look().id, MatchesRegex("[0-9a-f]{16}"));

  struct stat info{};
  ASSERT_EQ(stat(File("").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700U);
}

TEST_F(DataHomeTest, StaysTheSameWhileFilesComeAndGo) {
  const std::string before = Look().id;

  Write("a", "text");
  fs::rename(File("a"), File("b"));
  fs::remove(File("b"));

  EXPECT_EQ(Look().id, before);
}

TEST_F(DataHomeTest, StaysTheSameWhenMoved) {
  const DataHome before = Look();

  fs::rename(data_, directory_.Path("elsewhere"));

  EXPECT_EQ(Look(directory_.Path("elsewhere")).id, before.id);
  EXPECT_EQ(Look(directory_.Path("elsewhere")).changed, before.changed);
}

TEST_F(DataHomeTest, CopyIsAnotherOne) {
  const std::string original = Look().id;
  fs::copy(data_, directory_.Path("copy"), fs::copy_options::recursive);

  EXPECT_NE(Look(directory_.Path("copy")).id, original);

  fs::remove_all(data_);
  fs::rename(directory_.Path("copy"), data_);
  EXPECT_NE(Look().id, original) << "in the place of the original";
}

TEST_F(DataHomeTest, ChangesAreSeen) {
  core::WallTime before = Look().changed;

  for (const std::string text : {"new", "changed"}) {
    const core::WallTime after = Write("a", text);
    EXPECT_GT(after, before);
    EXPECT_EQ(Look().changed, after) << "looking changes nothing";
    before = after;
  }
}

TEST_F(DataHomeTest, NewNameIsAChange) {
  const core::WallTime before = Write("a", "x");

  while (Look().changed == before) {
    fs::rename(File("a"), File("b"));
    fs::rename(File("b"), File("a"));
  }

  EXPECT_GT(Look().changed, before);
}

TEST_F(DataHomeTest, ProblemNamesTheFolder) {
  const auto home = LookAtHome(directory_.Path("none"));

  ASSERT_FALSE(home.ok());
  EXPECT_EQ(core::ReasonOf(home.status()), core::ErrorReason::kStoreUnavailable);
  EXPECT_THAT(std::string(home.status().message()), HasSubstr("none/appendonlydir: No such file"));
}

}  // namespace
}  // namespace lockkeeper::embedded
