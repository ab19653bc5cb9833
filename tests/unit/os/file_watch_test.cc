// SPDX-License-Identifier: Apache-2.0
// When changed files are taken into use, and when somebody hears of a problem.
#include "os/file_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include "support/process/temporary_directory.h"

namespace lockkeeper::os {
namespace {

using support::TemporaryDirectory;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class FileWatchTest : public testing::Test {
 protected:
  FileWatchTest() {
    Write("a", "a1");
    Write("b", "b1");
  }

  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(directory_.Path(name), std::ios::binary) << text;
  }

  FileSet Set() const {
    return {.files = {{.name = "setting.a", .path = directory_.Path("a")},
                      {.name = "setting.b", .path = directory_.Path("b")}},
            .bytes_max = 100};
  }

  Contents Read() const {
    Contents contents;
    EXPECT_EQ(ReadTogether(Set(), contents), std::nullopt);
    return contents;
  }

  // Refuses what `refused_` begins with.
  WatchedFiles Watched() {
    return {Set(), Read(),
            [this](const Contents& contents) -> text::Problem {
              if (contents[0].starts_with("bad")) return "setting.a: " + contents[0];
              taken_ = contents;
              return std::nullopt;
            },
            [this](const text::Problem& problem) { told_.push_back(problem.value_or("taken")); }};
  }

  TemporaryDirectory directory_;
  Contents taken_;
  std::vector<std::string> told_;
};

TEST_F(FileWatchTest, UnchangedFilesAreLeftAlone) {
  WatchedFiles files = Watched();

  files.Look();
  Write("a", "a1");
  files.Look();

  EXPECT_THAT(taken_, IsEmpty());
  EXPECT_THAT(told_, IsEmpty());
}

TEST_F(FileWatchTest, ChangedFileIsTakenWithAllOfItsSet) {
  WatchedFiles files = Watched();

  Write("b", "b2");
  files.Look();
  files.Look();

  EXPECT_THAT(taken_, ElementsAre("a1", "b2"));
  EXPECT_THAT(told_, ElementsAre("taken"));
}

TEST_F(FileWatchTest, ChangeBeforeTheFirstLookIsSeen) {
  const Contents read = Read();
  Write("a", "a2");
  WatchedFiles files(
      Set(), read, [](const Contents&) { return std::nullopt; },
      [this](const text::Problem& problem) { told_.push_back(problem.value_or("taken")); });

  files.Look();

  EXPECT_THAT(told_, ElementsAre("taken"));
}

TEST_F(FileWatchTest, ProblemIsToldOnceWhenItStays) {
  WatchedFiles files = Watched();

  Write("a", "bad");
  files.Look();
  EXPECT_THAT(told_, IsEmpty()) << "somebody may be about to write the other file";
  files.Look();
  files.Look();
  EXPECT_THAT(told_, ElementsAre("setting.a: bad"));

  Write("a", "bad too");
  files.Look();
  files.Look();
  EXPECT_THAT(told_, ElementsAre("setting.a: bad", "setting.a: bad too"));

  Write("a", "a2");
  files.Look();
  EXPECT_THAT(told_, ElementsAre("setting.a: bad", "setting.a: bad too", "taken"));
  EXPECT_THAT(taken_, ElementsAre("a2", "b1"));
}

TEST_F(FileWatchTest, ProblemThatStaysIsToldAgainToWhoAsks) {
  WatchedFiles files = Watched();
  Write("a", "bad");
  files.Look();
  files.Look();

  files.TellAgain();
  files.Look();
  files.Look();
  EXPECT_THAT(told_, ElementsAre("setting.a: bad", "setting.a: bad"));

  Write("a", "a1");
  files.Look();
  files.TellAgain();
  files.Look();
  files.Look();
  EXPECT_THAT(told_, ElementsAre("setting.a: bad", "setting.a: bad", "taken")) << "it is gone";
  EXPECT_THAT(taken_, IsEmpty()) << "they are what is in use";
}

// Goal: who asks does not wait for the interval. Method: that is an hour.
TEST_F(FileWatchTest, ThreadLooksAtOnceWhenAsked) {
  std::promise<Contents> taken;
  std::vector<WatchedFiles> sets;
  sets.emplace_back(
      Set(), Read(),
      [&](const Contents& contents) {
        taken.set_value(contents);
        return std::nullopt;
      },
      [](const text::Problem&) {});
  FileWatch watch(std::move(sets), std::chrono::hours(1));

  Write("a", "a2");
  watch.LookNow();

  EXPECT_THAT(taken.get_future().get(), ElementsAre("a2", "b1"));
}

TEST_F(FileWatchTest, PassingProblemIsNotTold) {
  WatchedFiles files = Watched();
  for (int i = 0; i < 3; ++i) {
    Write("a", "bad");
    files.Look();
    Write("a", "a1");
    files.Look();
  }
  EXPECT_THAT(told_, IsEmpty());
}

TEST_F(FileWatchTest, MissingAndTooLargeFilesAreNamed) {
  WatchedFiles files = Watched();
  std::filesystem::remove(directory_.Path("b"));
  files.Look();
  files.Look();
  Write("b", std::string(101, 'x'));
  files.Look();
  files.Look();

  const std::string begin = "setting.b: \"" + directory_.Path("b") + "\" ";
  EXPECT_THAT(told_, ElementsAre(begin + "cannot be opened: No such file or directory",
                                 begin + "has more than 100 bytes"));
  EXPECT_THAT(taken_, IsEmpty());
}

TEST_F(FileWatchTest, NoFileIsAnEmptyText) {
  FileSet set = Set();
  set.files[0].path.clear();
  Contents contents;

  EXPECT_EQ(ReadTogether(set, contents), std::nullopt);
  EXPECT_THAT(contents, ElementsAre("", "b1"));
}

// Goal: files behind one symbolic link are never read from two versions. Method: a thread changes
// the link as fast as it can, while this one reads.
TEST_F(FileWatchTest, VersionsBehindASymbolicLinkAreNotMixed) {
  namespace fs = std::filesystem;
  const fs::path link = directory_.Path("now");
  const auto publish = [&](int number) {
    const std::string version = std::to_string(number);
    fs::create_directory(directory_.Path(version));
    for (const std::string file : {"a", "b", "c"}) Write(version + "/" + file, version);
    fs::create_symlink(version, directory_.Path("next"));
    fs::rename(directory_.Path("next"), link);
    fs::remove_all(directory_.Path(std::to_string(number - 2)));
  };
  publish(1);
  const FileSet set{.files = {{.name = "a", .path = link / "a"},
                              {.name = "b", .path = link / "b"},
                              {.name = "c", .path = link / "c"}}};
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    for (int number = 2; !stop; ++number) publish(number);
  });

  int read = 0;
  for (int i = 0; i < 2'000; ++i) {
    Contents contents;
    if (ReadTogether(set, contents)) continue;  // They change too fast, or have just gone.
    ++read;
    EXPECT_EQ(contents[0], contents[1]);
    EXPECT_EQ(contents[1], contents[2]);
  }
  stop = true;
  writer.join();
  EXPECT_GT(read, 0);
}

TEST_F(FileWatchTest, ThreadTakesWhatChanges) {
  std::promise<Contents> taken;
  std::vector<WatchedFiles> sets;
  sets.emplace_back(
      Set(), Read(),
      [&](const Contents& contents) {
        taken.set_value(contents);
        return std::nullopt;
      },
      [](const text::Problem&) {});
  const FileWatch watch(std::move(sets), std::chrono::milliseconds(1));

  const std::string next = directory_.Path("next");
  std::ofstream(next) << "a2";
  std::filesystem::rename(next, directory_.Path("a"));

  EXPECT_THAT(taken.get_future().get(), ElementsAre("a2", "b1"));
}

}  // namespace
}  // namespace lockkeeper::os
