// SPDX-License-Identifier: Apache-2.0
#include "embedded/data_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <optional>

#include "core/errors.h"
#include "support/process/temporary_directory.h"

namespace lockkeeper::embedded {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr milliseconds kAtOnce{0};

mode_t ModeOf(const std::string& path) {
  struct stat info{};
  EXPECT_EQ(stat(path.c_str(), &info), 0) << path;
  return info.st_mode & 07777;
}

// With XDG_RUNTIME_DIR in the test's own folder.
class DataDirectoryTest : public testing::Test {
 protected:
  DataDirectoryTest() {
    const char* before = std::getenv("XDG_RUNTIME_DIR");
    if (before != nullptr) runtime_before_ = before;
    setenv("XDG_RUNTIME_DIR", directory_.path().c_str(), 1);
  }
  void TearDown() override {
    if (runtime_before_) {
      setenv("XDG_RUNTIME_DIR", runtime_before_->c_str(), 1);
    } else {
      unsetenv("XDG_RUNTIME_DIR");
    }
  }

  static std::string Problem(const std::string& path) {
    const auto directory = DataDirectory::Open(path, kAtOnce);
    if (directory.ok()) return "opened " + directory->path();
    EXPECT_EQ(core::ReasonOf(directory.status()), core::ErrorReason::kStoreUnavailable);
    return std::string(directory.status().message());
  }

  // A path that is too long for a socket in it.
  std::string LongPath() const { return directory_.Path(std::string(100, 'x')); }

  support::TemporaryDirectory directory_;

 private:
  std::optional<std::string> runtime_before_;
};

TEST_F(DataDirectoryTest, MissingFolderIsMadeForItsOwnerOnly) {
  const std::string path = directory_.Path("parent/data");

  const auto directory = DataDirectory::Open(path + "//", kAtOnce);

  ASSERT_TRUE(directory.ok()) << directory.status();
  EXPECT_EQ(directory->path(), path);
  EXPECT_EQ(directory->socket_path(), path + "/redis.sock");
  EXPECT_EQ(ModeOf(path), 0700u);
  EXPECT_EQ(ModeOf(path + "/lock"), 0600u);
}

TEST_F(DataDirectoryTest, FolderThatIsThereKeepsItsMode) {
  const std::string path = directory_.Path("data");
  mkdir(path.c_str(), 0700);
  chmod(path.c_str(), 0755);

  EXPECT_TRUE(DataDirectory::Open(path, kAtOnce).ok());
  EXPECT_EQ(ModeOf(path), 0755u);
}

TEST_F(DataDirectoryTest, FolderThatOthersMayWriteIsRefused) {
  const std::string path = directory_.Path("data");
  mkdir(path.c_str(), 0700);
  chmod(path.c_str(), 0770);

  EXPECT_EQ(Problem(path), "data directory " + path +
                               ": other users may write to it: use chmod 700, or another folder");
}

TEST_F(DataDirectoryTest, WhatCannotBeAFolderIsNamed) {
  const std::string file = directory_.Path("file");
  std::ofstream(file) << "text";

  EXPECT_EQ(Problem(file), "data directory " + file + ": is not a directory");
  EXPECT_THAT(Problem(file + "/data"),
              HasSubstr(": cannot create its parent folder: Not a directory"));
  EXPECT_THAT(Problem(""), HasSubstr("is not a path"));
}

TEST_F(DataDirectoryTest, FolderInUseIsRefusedNamingTheProcess) {
  const std::string path = directory_.Path("data");
  const auto first = DataDirectory::Open(path, kAtOnce);
  ASSERT_TRUE(first.ok());

  EXPECT_THAT(Problem(path), StartsWith("data directory " + path +
                                        ": is in use by the lockkeeperd with process id " +
                                        std::to_string(getpid())));
}

TEST_F(DataDirectoryTest, WhoWaitsIsToldForWhomOnce) {
  const std::string path = directory_.Path("data");
  const auto first = DataDirectory::Open(path, kAtOnce);
  ASSERT_TRUE(first.ok());
  std::vector<std::string> told;

  const auto second = DataDirectory::Open(
      path, core::Millis(60), [&](const std::string& holder) { told.push_back(holder); });

  EXPECT_FALSE(second.ok());
  EXPECT_THAT(told, testing::ElementsAre(std::to_string(getpid())));
}

TEST_F(DataDirectoryTest, FolderIsFreeAgainWhenTheLastCopyOfTheLockIsClosed) {
  const std::string path = directory_.Path("data");
  std::optional<DataDirectory> first = *DataDirectory::Open(path, kAtOnce);
  os::Descriptor inherited(dup(first->lock_descriptor()));

  first.reset();
  EXPECT_THAT(Problem(path), HasSubstr("is in use"));
  inherited = os::Descriptor();
  EXPECT_TRUE(DataDirectory::Open(path, kAtOnce).ok());
}

TEST_F(DataDirectoryTest, FolderThatBecomesFreeInTimeIsTaken) {
  const std::string path = directory_.Path("data");
  std::optional<DataDirectory> first = *DataDirectory::Open(path, kAtOnce);

  auto second = std::async(std::launch::async,
                           [&] { return DataDirectory::Open(path, seconds(60)).status(); });
  first.reset();

  EXPECT_TRUE(second.get().ok());
}

TEST_F(DataDirectoryTest, LongPathGetsItsSocketInTheRuntimeFolderAtTheSamePlaceEachTime) {
  const std::string socket = DataDirectory::Open(LongPath(), kAtOnce)->socket_path();

  EXPECT_THAT(socket, StartsWith(directory_.path() + "/lockkeeper-"));
  EXPECT_EQ(ModeOf(std::filesystem::path(socket).parent_path()), 0700u);
  EXPECT_EQ(DataDirectory::Open(LongPath(), kAtOnce)->socket_path(), socket);
  EXPECT_NE(DataDirectory::Open(LongPath() + "y", kAtOnce)->socket_path(), socket);
}

TEST_F(DataDirectoryTest, RuntimeFolderThatIsNotOursAloneIsRefused) {
  const std::string socket = DataDirectory::Open(LongPath(), kAtOnce)->socket_path();
  chmod(std::filesystem::path(socket).parent_path().c_str(), 0750);

  EXPECT_THAT(Problem(LongPath()), HasSubstr("must be a directory that only its owner may use"));
}

TEST_F(DataDirectoryTest, NoPlaceForTheSocketIsAClearError) {
  setenv("XDG_RUNTIME_DIR", LongPath().c_str(), 1);

  EXPECT_THAT(Problem(LongPath()), HasSubstr("its path is too long for a unix socket"));
}

}  // namespace
}  // namespace lockkeeper::embedded
