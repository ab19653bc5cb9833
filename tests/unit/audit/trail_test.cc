// SPDX-License-Identifier: Apache-2.0
// The trail over a sink that is slow, broken or away, as a test says.
#include "audit/trail.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/strings/str_split.h"
#include "support/rpc/captured_log.h"

namespace lockkeeper::audit {
namespace {

using std::chrono::milliseconds;
using telemetry::Outcome;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// Shared with the trail's thread, and looked at after the trail is gone, too.
class FakeDisk {
 public:
  Written Write(std::string_view lines) {
    std::unique_lock lock(mutex_);
    ++writes_;
    changed_.notify_all();
    if (!problem_.empty()) return {.bytes = 0, .problem = problem_};
    if (room_ == 0) {
      changed_.wait_for(lock, milliseconds(5), [this] { return room_ > 0; });
      return {};
    }
    const std::string_view part = lines.substr(0, std::min(room_, kAtOnce));
    if (room_ != SIZE_MAX) room_ -= part.size();
    files_.back() += part;
    changed_.notify_all();
    return {.bytes = part.size(), .problem = {}};
  }

  text::Problem Reopen() {
    const std::lock_guard lock(mutex_);
    if (!problem_.empty()) return problem_;
    files_.emplace_back();
    changed_.notify_all();
    return std::nullopt;
  }

  // It takes so many bytes, and then none until this is called again.
  void Take(size_t bytes) {
    const std::lock_guard lock(mutex_);
    room_ = bytes;
    changed_.notify_all();
  }
  void TakeAll() { Take(SIZE_MAX); }
  // Each write and each opening fails so. Empty: none.
  void Fail(const std::string& problem) {
    const std::lock_guard lock(mutex_);
    problem_ = problem;
  }

  // Requires: it does not take all.
  void WaitForWrite() {
    std::unique_lock lock(mutex_);
    const int before = writes_;
    ASSERT_TRUE(changed_.wait_for(lock, kLong, [&] { return writes_ > before; }));
  }
  void WaitForFiles(size_t files) {
    std::unique_lock lock(mutex_);
    ASSERT_TRUE(changed_.wait_for(lock, kLong, [&] { return files_.size() == files; }));
  }
  void WaitForText(const std::string& text) {
    std::unique_lock lock(mutex_);
    ASSERT_TRUE(changed_.wait_for(lock, kLong,
                                  [&] { return files_.back().find(text) != std::string::npos; }));
  }

  std::string Text(size_t file) const {
    const std::lock_guard lock(mutex_);
    return files_.at(file);
  }
  std::vector<std::string> Lines(size_t file) const {
    return absl::StrSplit(Text(file), '\n', absl::SkipEmpty());
  }

 private:
  static constexpr size_t kAtOnce = 100;  // Less than a line, so that all lines come in parts.
  static constexpr std::chrono::seconds kLong{30};

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> files_{""};
  size_t room_ = SIZE_MAX;
  std::string problem_;
  int writes_ = 0;
};

class FakeSink final : public Sink {
 public:
  explicit FakeSink(FakeDisk& disk) : disk_(disk) {}
  Written Write(std::string_view lines) override { return disk_.Write(lines); }
  text::Problem Reopen() override { return disk_.Reopen(); }

 private:
  FakeDisk& disk_;
};

class TrailTest : public testing::Test {
 protected:
  Trail& Start(TrailOptions options) {
    trail_.emplace(std::make_unique<FakeSink>(disk_), std::move(options),
                   telemetry::Logger(log_, "audit"), metrics_, [this](const std::string& problem) {
                     const std::lock_guard lock(heard_mutex_);
                     heard_.push_back(problem);
                   });
    return *trail_;
  }
  std::vector<std::string> Heard() {
    const std::lock_guard lock(heard_mutex_);
    return heard_;
  }
  Trail& Start(bool required, size_t queue_max) {
    return Start({.required = required, .queue_max = queue_max, .retry_after = milliseconds(1)});
  }

  static Record Named(std::string_view lock) {
    return {.verb = "acquire", .outcome = Outcome::kGranted, .lock = lock};
  }
  // Fills the queue of a trail whose disk takes nothing. The writer has the first record.
  void Fill(Trail& trail, size_t records, Room room = Room::kOrdinary) {
    for (size_t i = 0; i < records; ++i) {
      trail.Put(Named("n" + std::to_string(i)), room);
      if (i == 0) disk_.WaitForWrite();
    }
  }

  // The value of the locks, in order.
  std::vector<std::string> LocksIn(size_t file) const {
    std::vector<std::string> locks;
    for (const std::string& line : disk_.Lines(file)) {
      const std::string key = "\"lock\":\"";
      const size_t begin = line.find(key);
      if (begin == std::string::npos) continue;
      const size_t end = line.find('"', begin + key.size());
      locks.push_back(line.substr(begin + key.size(), end - begin - key.size()));
    }
    return locks;
  }

  double Metric(const std::string& name) const {
    const std::string text = metrics_.Expose();
    const size_t found = text.find("\n" + name + " ");
    return found == std::string::npos ? -1 : std::stod(text.substr(found + name.size() + 2));
  }
  double Dropped() const { return Metric("lockkeeper_audit_dropped_total"); }

  std::mutex heard_mutex_;
  std::vector<std::string> heard_;  // Guarded by it.
  FakeDisk disk_;
  support::CapturedLog output_;
  telemetry::Log log_{{}, output_};
  telemetry::Metrics metrics_{"test", "none"};
  std::optional<Trail> trail_;
};

TEST_F(TrailTest, WritesEachRecordOnceInOrder) {
  Trail& trail = Start(/*required=*/false, 1'000);
  trail.Put(Named("a"));
  trail.Put(Named("b"));
  disk_.WaitForText("\"b\"");
  trail.Put(Named("c"));
  trail_.reset();

  EXPECT_THAT(LocksIn(0), ElementsAre("a", "b", "c"));
  EXPECT_EQ(Dropped(), 0);
}

TEST_F(TrailTest, RecordsOfManyThreadsAreAllThere) {
  constexpr int kThreads = 4;
  constexpr int kEach = 2'000;
  Trail& trail = Start(/*required=*/false, kThreads * kEach);
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < kEach; ++i) trail.Put(Named("n"));
    });
  }
  for (std::thread& thread : threads) thread.join();
  trail_.reset();

  EXPECT_THAT(LocksIn(0), SizeIs(kThreads * kEach));
}

TEST_F(TrailTest, HasTheTimeOfThePut) {
  Trail& trail = Start({.wall_clock = [] {
    return std::chrono::system_clock::time_point(milliseconds(1'767'323'045'678));
  }});
  trail.Put(Named("a"));
  trail_.reset();

  EXPECT_THAT(disk_.Text(0), HasSubstr("{\"time\":\"2026-01-02T03:04:05.678Z\""));
}

TEST_F(TrailTest, FullQueueDropsCountsAndTellsOnce) {
  disk_.Take(0);
  Trail& trail = Start(/*required=*/false, 100);
  Fill(trail, 130);

  EXPECT_EQ(Dropped(), 30);
  EXPECT_FALSE(trail.RefusesGrants()) << "records are not required";
  EXPECT_THAT(output_.LinesWith("event=audit.dropped"), SizeIs(1)) << "not one for each";
  disk_.TakeAll();
  disk_.WaitForText("\"dropped\":30}\n");
  trail.Put(Named("after"));
  trail_.reset();

  const std::vector<std::string> lines = disk_.Lines(0);
  ASSERT_THAT(lines, SizeIs(102));
  EXPECT_THAT(lines[99], HasSubstr("\"n99\""));
  EXPECT_THAT(lines[100], HasSubstr("\"verb\":\"drop\",\"outcome\":\"error\",\"dropped\":30}"));
  EXPECT_THAT(lines[101], HasSubstr("\"after\""));
}

TEST_F(TrailTest, RefusalsGetHalfOfTheQueue) {
  disk_.Take(0);
  Trail& trail = Start(/*required=*/true, 100);
  Fill(trail, 80, Room::kHalf);

  EXPECT_EQ(Dropped(), 30);
  EXPECT_FALSE(trail.RefusesGrants()) << "a stranger cannot stop grants";
  Fill(trail, 50);
  EXPECT_EQ(Dropped(), 30);
  EXPECT_TRUE(trail.RefusesGrants());
  disk_.TakeAll();
}

TEST_F(TrailTest, RequiredRefusesGrantsWhileTheQueueIsFull) {
  disk_.Take(0);
  Trail& trail = Start(/*required=*/true, 100);
  Fill(trail, 99);
  EXPECT_FALSE(trail.RefusesGrants());
  Fill(trail, 1);
  EXPECT_TRUE(trail.RefusesGrants());

  disk_.TakeAll();
  disk_.WaitForText("\"n98\"");
  while (trail.RefusesGrants()) std::this_thread::yield();
}

// It was admitted before the queue was full.
TEST_F(TrailTest, GrantThatWasAdmittedFitsIfRecordsAreRequired) {
  disk_.Take(0);
  Trail& trail = Start(/*required=*/true, 100);
  Fill(trail, 100);
  trail.Put(Named("admitted"), Room::kGrant);
  trail.Put(Named("release"));
  EXPECT_EQ(Dropped(), 1);
  disk_.TakeAll();
  trail_.reset();

  EXPECT_THAT(LocksIn(0), testing::Contains("admitted"));
  EXPECT_THAT(LocksIn(0), testing::Not(testing::Contains("release")));
}

TEST_F(TrailTest, GrantIsDroppedLikeOthersIfRecordsAreNotRequired) {
  disk_.Take(0);
  Trail& trail = Start(/*required=*/false, 100);
  Fill(trail, 100);
  trail.Put(Named("admitted"), Room::kGrant);
  EXPECT_EQ(Dropped(), 1);
  disk_.TakeAll();
}

TEST_F(TrailTest, FailedWriteRefusesGrantsUntilItSucceeds) {
  disk_.Fail("No space left on device");
  Trail& trail = Start(/*required=*/true, 100);
  EXPECT_FALSE(trail.RefusesGrants()) << "nothing was written yet";
  trail.Put(Named("a"));
  for (int i = 0; i < 3; ++i) disk_.WaitForWrite();

  EXPECT_TRUE(trail.RefusesGrants());
  EXPECT_GE(Metric("lockkeeper_audit_write_failed_total"), 2);
  const auto failed = output_.LinesWith("event=audit.write_failed");
  ASSERT_THAT(failed, SizeIs(1)) << "not one for each";
  EXPECT_THAT(failed[0], HasSubstr("problem=\"No space left on device\""));

  disk_.Fail("");
  disk_.WaitForText("\"a\"");
  while (trail.RefusesGrants()) std::this_thread::yield();
  trail_.reset();
  EXPECT_THAT(LocksIn(0), ElementsAre("a"));
  EXPECT_THAT(output_.LinesWith("event=audit.written_again"), SizeIs(1));
  EXPECT_EQ(Dropped(), 0);

  const std::vector<std::string> heard = Heard();
  EXPECT_THAT(heard.front(), HasSubstr("acquires are refused until they can: No space left"));
  EXPECT_EQ(heard.back(), "") << "the listener knows that it goes on";
}

// Nothing is granted, so there is no record whose write would show that it goes on.
TEST_F(TrailTest, FailedReopenIsRepeatedWithoutARecord) {
  disk_.Fail("No such file or directory");
  Trail& trail = Start(/*required=*/true, 100);
  trail.Reopen();
  while (!trail.RefusesGrants()) std::this_thread::yield();

  disk_.Fail("");
  while (trail.RefusesGrants()) std::this_thread::yield();
  trail_.reset();
  EXPECT_THAT(Heard(), ElementsAre(HasSubstr("No such file or directory"), ""));
  EXPECT_THAT(output_.LinesWith("event=audit.reopened"), SizeIs(1));
}

TEST_F(TrailTest, ReaderThatStandsStillIsToldOnceTheQueueIsFull) {
  disk_.Take(0);
  Trail& trail = Start(/*required=*/true, 100);
  Fill(trail, 99);
  for (int i = 0; i < 3; ++i) disk_.WaitForWrite();
  EXPECT_THAT(Heard(), testing::IsEmpty()) << "it may only be slow";
  Fill(trail, 1);
  while (Heard().empty()) std::this_thread::yield();
  disk_.Take(1);
  for (int i = 0; i < 3; ++i) disk_.WaitForWrite();  // The queue is as full as before.

  disk_.TakeAll();
  while (trail.RefusesGrants()) std::this_thread::yield();
  trail_.reset();
  EXPECT_THAT(Heard(), ElementsAre(HasSubstr("whoever reads them does not"), ""));
}

TEST_F(TrailTest, ReopenGoesOnInTheNewFile) {
  Trail& trail = Start(/*required=*/false, 1'000);
  trail.Put(Named("a"));
  disk_.WaitForText("\"a\"");
  trail.Reopen();
  disk_.WaitForFiles(2);
  trail.Put(Named("b"));
  trail_.reset();

  EXPECT_THAT(LocksIn(0), ElementsAre("a"));
  EXPECT_THAT(LocksIn(1), ElementsAre("b"));
  EXPECT_THAT(output_.LinesWith("event=audit.reopened"), SizeIs(1));
}

// The old file has a part of a line; the new one has it whole.
TEST_F(TrailTest, ReopenInTheMiddleOfALineRepeatsIt) {
  disk_.Take(15);
  Trail& trail = Start(/*required=*/false, 1'000);
  trail.Put(Named("a"));
  disk_.WaitForText("{\"time\":\"20");
  trail.Reopen();
  disk_.WaitForFiles(2);
  disk_.TakeAll();
  trail_.reset();

  EXPECT_THAT(disk_.Text(0), SizeIs(15));
  ASSERT_THAT(disk_.Lines(1), SizeIs(1));
  EXPECT_THAT(disk_.Lines(1)[0], testing::StartsWith("{\"time\""));
  EXPECT_THAT(LocksIn(1), ElementsAre("a"));
}

TEST_F(TrailTest, EndCountsWhatCannotBeWritten) {
  disk_.Take(0);
  Trail& trail =
      Start({.queue_max = 100, .retry_after = milliseconds(1), .end_patience = milliseconds(20)});
  Fill(trail, 70);
  trail_.reset();

  EXPECT_EQ(Dropped(), 70);
  const auto lost = output_.LinesWith("event=audit.lost");
  ASSERT_THAT(lost, SizeIs(1));
  EXPECT_THAT(lost[0], HasSubstr("records=70"));
  EXPECT_THAT(disk_.Text(0), IsEmpty());
}

}  // namespace
}  // namespace lockkeeper::audit
