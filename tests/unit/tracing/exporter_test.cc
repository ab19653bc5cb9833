// SPDX-License-Identifier: Apache-2.0
// The exporter before a collector that is slow, away or choosy, as a test says.
#include "tracing/exporter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "support/rpc/captured_log.h"

namespace lockkeeper::tracing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Le;
using testing::SizeIs;

// Shared with the exporter's thread, and looked at after the exporter is gone, too.
class Collector {
 public:
  Sent Take(absl::Span<const Span> spans) {
    std::unique_lock lock(mutex_);
    ++sends_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !blocked_ || cancelled_; });
    if (cancelled_) return {.kind = Sent::Kind::kTryAgain, .problem = "cancelled"};
    if (!answers_.empty()) {
      const Sent answer = answers_.front();
      if (answers_.size() > 1) answers_.erase(answers_.begin());
      if (answer.kind != Sent::Kind::kTaken) return answer;
      Keep(spans);
      return answer;
    }
    Keep(spans);
    return {};
  }

  // What it answers, one after the other; the last one from then on. None: it takes all.
  void Answer(std::vector<Sent> answers) {
    const std::lock_guard lock(mutex_);
    answers_ = std::move(answers);
  }
  // Sends take until this is called with false.
  void Block(bool blocked) {
    const std::lock_guard lock(mutex_);
    blocked_ = blocked;
    changed_.notify_all();
  }
  void Cancel() {
    const std::lock_guard lock(mutex_);
    cancelled_ = true;
    changed_.notify_all();
  }

  void WaitForSends(int sends) {
    std::unique_lock lock(mutex_);
    ASSERT_TRUE(changed_.wait_for(lock, seconds(30), [&] { return sends_ >= sends; })) << sends_;
  }
  void WaitForSpans(size_t spans) {
    std::unique_lock lock(mutex_);
    ASSERT_TRUE(changed_.wait_for(lock, seconds(30), [&] { return names_.size() >= spans; }))
        << names_.size();
  }

  std::vector<std::string> names() const {
    const std::lock_guard lock(mutex_);
    return names_;
  }
  std::vector<size_t> batches() const {
    const std::lock_guard lock(mutex_);
    return batches_;
  }
  int sends() const {
    const std::lock_guard lock(mutex_);
    return sends_;
  }

 private:
  void Keep(absl::Span<const Span> spans) {
    for (const Span& span : spans) names_.push_back(span.name);
    batches_.push_back(spans.size());
    changed_.notify_all();
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Sent> answers_;
  std::vector<std::string> names_;
  std::vector<size_t> batches_;
  int sends_ = 0;
  bool blocked_ = false;
  bool cancelled_ = false;
};

class FakeSender final : public SpanSender {
 public:
  explicit FakeSender(Collector& collector) : collector_(collector) {}
  Sent Send(absl::Span<const Span> spans, core::Millis) override { return collector_.Take(spans); }
  void Cancel() override { collector_.Cancel(); }

 private:
  Collector& collector_;
};

class ExporterTest : public testing::Test {
 protected:
  SpanExporter& Start(ExporterOptions options) {
    options.retry_after = milliseconds(1);
    exporter_.emplace(std::make_unique<FakeSender>(collector_), options,
                      telemetry::Logger(log_, "tracing"), metrics_);
    return *exporter_;
  }

  static Span Named(const std::string& name) { return {.name = name}; }
  void Put(int from, int to) {
    for (int i = from; i < to; ++i) exporter_->Put(Named(std::to_string(i)));
  }

  double Metric(const std::string& name) const {
    const std::string text = metrics_.Expose();
    const size_t found = text.find("\n" + name + " ");
    return found == std::string::npos ? -1 : std::stod(text.substr(found + name.size() + 2));
  }
  double Exported() const { return Metric("lockkeeper_traces_exported_total"); }
  double Dropped() const { return Metric("lockkeeper_traces_dropped_total"); }
  void End() { exporter_.reset(); }

  static Sent Away() { return {.kind = Sent::Kind::kTryAgain, .problem = "it is away"}; }

  Collector collector_;
  support::CapturedLog output_;
  telemetry::Log log_{{}, output_};
  telemetry::Metrics metrics_{"test", "none"};
  std::optional<SpanExporter> exporter_;
};

TEST_F(ExporterTest, SpansGoOutInTheirOrderAndAreCounted) {
  Start({.gather = milliseconds(1)});
  Put(0, 3);
  collector_.WaitForSpans(3);
  End();

  EXPECT_THAT(collector_.names(), ElementsAre("0", "1", "2"));
  EXPECT_EQ(Exported(), 3);
  EXPECT_EQ(Dropped(), 0);
}

TEST_F(ExporterTest, FullBatchGoesAtOnceAndIsNotLarger) {
  Start({.batch_max = 4, .gather = seconds(3'600)});
  Put(0, 8);
  collector_.WaitForSpans(4);
  End();

  EXPECT_THAT(collector_.batches(), Each(Le(4U)));
  EXPECT_THAT(collector_.names(), SizeIs(8));
}

TEST_F(ExporterTest, FullQueueDropsCountsAndTellsOnce) {
  collector_.Block(true);
  Start({.queue_max = 5, .batch_max = 1});
  Put(0, 1);
  collector_.WaitForSends(1);  // It has the first one, so the queue is empty.
  Put(1, 10);
  EXPECT_EQ(Dropped(), 4);
  collector_.Block(false);
  collector_.WaitForSpans(6);
  End();

  EXPECT_THAT(collector_.names(), ElementsAre("0", "1", "2", "3", "4", "5"));
  EXPECT_EQ(Exported(), 6);
  EXPECT_EQ(Dropped(), 4);
  EXPECT_THAT(output_.LinesWith("event=traces.dropped"), SizeIs(1)) << "not one for each";
}

TEST_F(ExporterTest, LimitOfTheQueueIsReached) {
  collector_.Block(true);
  Start({.batch_max = 1});
  Put(0, 1);
  collector_.WaitForSends(1);
  const auto limit = static_cast<int>(core::limits::kSpansQueuedMax);
  Put(1, limit + 1);
  EXPECT_EQ(Dropped(), 0);
  Put(0, 1);
  EXPECT_EQ(Dropped(), 1);
  collector_.Answer({Away()});
  collector_.Block(false);
}

TEST_F(ExporterTest, BatchIsSentAgainUntilItIsTaken) {
  collector_.Answer({Away(), Away(), {}});
  Start({.gather = milliseconds(1)});
  Put(0, 1);
  collector_.WaitForSpans(1);
  End();

  EXPECT_EQ(collector_.sends(), 3);
  EXPECT_EQ(Exported(), 1);
  EXPECT_EQ(Dropped(), 0);
  EXPECT_THAT(output_.LinesWith("level=warn component=tracing event=traces.export_failed"),
              SizeIs(1))
      << "not one for each try";
  EXPECT_THAT(output_.LinesWith("problem=\"it is away\""), SizeIs(1));
  EXPECT_THAT(output_.LinesWith("event=traces.exported_again"), SizeIs(1));
}

TEST_F(ExporterTest, BatchThatNobodyTakesIsDroppedInTheEnd) {
  collector_.Answer({Away()});
  Start({.batch_max = 2, .gather = seconds(3'600), .tries_max = 3});
  Put(0, 2);
  collector_.WaitForSends(3);
  collector_.Answer({});
  Put(2, 4);
  collector_.WaitForSpans(2);
  End();

  EXPECT_THAT(collector_.names(), ElementsAre("2", "3"));
  EXPECT_EQ(Dropped(), 2);
  EXPECT_EQ(Exported(), 2);
}

TEST_F(ExporterTest, RejectedBatchIsNotSentAgain) {
  collector_.Answer({{.kind = Sent::Kind::kRejected, .problem = "no such service"}, {}});
  Start({.batch_max = 1});
  Put(0, 1);
  collector_.WaitForSends(1);
  Put(1, 2);
  collector_.WaitForSpans(1);
  End();

  EXPECT_THAT(collector_.names(), ElementsAre("1"));
  EXPECT_EQ(collector_.sends(), 2);
  EXPECT_EQ(Dropped(), 1);
}

TEST_F(ExporterTest, SpansThatTheCollectorRejectsOfABatchAreDropped) {
  collector_.Answer({{.problem = "too large", .rejected = 2}});
  Start({.batch_max = 3, .gather = seconds(3'600)});
  Put(0, 3);
  collector_.WaitForSpans(3);
  End();

  EXPECT_EQ(Exported(), 1);
  EXPECT_EQ(Dropped(), 2);
  EXPECT_THAT(output_.LinesWith("event=traces.rejected"), SizeIs(1));
}

TEST_F(ExporterTest, CollectorThatRejectsMoreThanThereWasIsNotBelieved) {
  collector_.Answer({{.rejected = 1'000'000}});
  Start({.batch_max = 1});
  Put(0, 1);
  collector_.WaitForSpans(1);
  End();

  EXPECT_EQ(Exported(), 0);
  EXPECT_EQ(Dropped(), 1);
}

TEST_F(ExporterTest, WhatWaitsIsSentAtTheEnd) {
  Start({.batch_max = 2, .gather = seconds(3'600)});
  Put(0, 7);
  End();

  EXPECT_THAT(collector_.names(), SizeIs(7));
  EXPECT_EQ(Exported(), 7);
}

TEST_F(ExporterTest, EndWaitsForNoCollectorThatIsAway) {
  collector_.Answer({Away()});
  Start({.batch_max = 1, .gather = milliseconds(0), .end_patience = seconds(3'600)});
  Put(0, 20);
  End();

  EXPECT_EQ(Exported(), 0);
  EXPECT_EQ(Dropped(), 20);
  EXPECT_THAT(collector_.names(), IsEmpty());
}

TEST_F(ExporterTest, EndIsBoundedIfTheCollectorDoesNotAnswer) {
  collector_.Block(true);
  Start({.batch_max = 1, .end_patience = milliseconds(1)});
  Put(0, 3);
  collector_.WaitForSends(1);
  End();  // Would hang.

  EXPECT_EQ(Dropped(), 3);
}

}  // namespace
}  // namespace lockkeeper::tracing
