// SPDX-License-Identifier: Apache-2.0
// A store of parts is listed and told of as one.
#include "redis/parted_store.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "core/errors.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "support/fake_node/fake_node.h"
#include "support/fake_node/lua_scripts.h"
#include "support/guard_options.h"
#include "support/manual_clock.h"
#include "support/manual_executor.h"

namespace lockkeeper::redis {
namespace {

using core::Micros;
using testing::ElementsAre;
using testing::IsEmpty;

const std::string kDaemonId(16, '1');
constexpr size_t kParts = 3;

class RecordingObserver final : public GuardObserver {
 public:
  void OnFirstUse(const StoreTrust& trust) override { Record("first use", trust); }
  void OnLoss(LossKind kind, const StoreTrust& trust) override {
    Record(std::string(NameOf(kind)), trust);
  }
  void OnNewEpoch(const StoreTrust& trust) override { Record("new epoch", trust); }
  void OnTrustChanged(const StoreTrust& trust) override { now = trust; }

  std::vector<std::string> told;
  StoreTrust now;

 private:
  void Record(std::string what, const StoreTrust& trust) {
    told.push_back(std::move(what));
    now = trust;
  }
};

// Each part has a server of its own.
class PartedStoreTest : public testing::Test {
 protected:
  PartedStoreTest() {
    std::vector<StorePart> parts;
    for (size_t i = 0; i < kParts; ++i) {
      servers_.push_back(std::make_unique<support::RedisModel>(lua_, clock_));
      servers_.back()->LoadCompiledScripts();
      nodes_.push_back(std::make_unique<support::FakeNode>(*servers_.back(), clock_, executor_));
      parts.push_back({nodes_.back().get(), "lk:{" + std::to_string(i) + "}"});
    }
    store_ = std::make_unique<PartedStore>(parts, clock_, executor_, observer_,
                                           support::StoreOptionsOf(kDaemonId));
    executor_.AdvanceBy(std::chrono::milliseconds(500));  // Until the guards know the store.
  }

  absl::StatusOr<core::AcquireAnswer> Acquire(const std::string& name) {
    core::AcquireRequest request;
    request.name = name;
    request.lease_id = core::LeaseId::FromBits(++leases_, 7);
    request.attempt = 1;
    request.ttl = std::chrono::seconds(30);
    request.deadline = clock_.Now() + std::chrono::seconds(1);
    return Answer<core::AcquireAnswer>(
        [&](auto done) { store_->locks().Acquire(request, std::move(done)); });
  }

  absl::StatusOr<core::LockPage> List(const core::ListRequest& request) {
    return Answer<core::LockPage>(
        [&](auto done) { store_->admin().List(request, std::move(done)); });
  }

  absl::StatusOr<core::EndQuarantineAnswer> EndQuarantine(int64_t epoch) {
    return Answer<core::EndQuarantineAnswer>([&](auto done) {
      store_->admin().EndQuarantine({.epoch = epoch, .deadline = clock_.Now() + Micros(1'000'000)},
                                    std::move(done));
    });
  }

  template <typename T, typename Ask>
  absl::StatusOr<T> Answer(const Ask& ask) {
    std::optional<absl::StatusOr<T>> answer;
    ask([&answer](absl::StatusOr<T> given) { answer = std::move(given); });
    EXPECT_FALSE(answer) << "before the call returned";
    EXPECT_TRUE(executor_.AdvanceUntil([&] { return answer.has_value(); }, Micros(5'000'000)));
    return *std::move(answer);
  }

  // As if the server of this part had been flushed, and the guard had found that.
  void Lose(size_t part) {
    servers_[part]->Flush();
    executor_.AdvanceBy(std::chrono::milliseconds(1'100));
  }

  uint64_t leases_ = 0;
  support::ManualClock clock_;
  support::ManualExecutor executor_{clock_};
  support::LuaScripts lua_;
  std::vector<std::unique_ptr<support::RedisModel>> servers_;
  std::vector<std::unique_ptr<support::FakeNode>> nodes_;
  RecordingObserver observer_;
  std::unique_ptr<PartedStore> store_;
};

TEST_F(PartedStoreTest, LocksSpreadOverAllParts) {
  for (int i = 0; i < 30; ++i) {
    const auto answer = Acquire("lock " + std::to_string(i));
    ASSERT_TRUE(answer.ok() && std::holds_alternative<core::Lease>(*answer)) << answer.status();
  }
  int64_t all = 0;
  for (const auto& server : servers_) {
    const int64_t keys = server->Execute(std::vector<std::string_view>{"DBSIZE"}).integer;
    EXPECT_GT(keys, 5);
    all += keys;
  }
  EXPECT_EQ(all, 30 + static_cast<int64_t>(kParts)) << "a marker for each part";
}

TEST_F(PartedStoreTest, ListsAllPartsPageByPage) {
  std::set<std::string> names;
  for (int i = 0; i < 20; ++i) {
    names.insert("lock " + std::to_string(i));
    ASSERT_TRUE(Acquire("lock " + std::to_string(i)).ok());
  }
  std::vector<std::string> listed;
  core::ListRequest request{.prefix = "lock", .page_size = 3};
  do {
    request.deadline = clock_.Now() + std::chrono::seconds(1);
    const auto page = List(request);
    ASSERT_TRUE(page.ok()) << page.status();
    EXPECT_LE(page->locks.size(), 3U);
    for (const core::LockInfo& lock : page->locks) listed.push_back(lock.name);
    request.page_token = page->next_page_token;
  } while (!request.page_token.empty());

  EXPECT_EQ(listed.size(), names.size());
  EXPECT_EQ(std::set(listed.begin(), listed.end()), names);
}

TEST_F(PartedStoreTest, OnePageCanHaveLocksOfAllParts) {
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(Acquire("lock " + std::to_string(i)).ok());
  const auto page = List({.page_size = 100, .deadline = clock_.Now() + std::chrono::seconds(1)});
  ASSERT_TRUE(page.ok());
  EXPECT_EQ(page->locks.size(), 20U);
  EXPECT_EQ(page->next_page_token, "");
}

TEST_F(PartedStoreTest, PageTokenOfAnotherStoreIsRefused) {
  for (const std::string token : {"5", "3:", "-1:", "x:0.0", ":"}) {
    const auto page = List(
        {.page_size = 3, .page_token = token, .deadline = clock_.Now() + std::chrono::seconds(1)});
    EXPECT_EQ(core::ReasonOf(page.status()), core::ErrorReason::kInvalidField) << token;
  }
}

TEST_F(PartedStoreTest, FirstUseOfAllPartsIsToldOnce) {
  EXPECT_THAT(observer_.told, ElementsAre("first use"));
  EXPECT_EQ(observer_.now.epoch, static_cast<int64_t>(kParts));
}

TEST_F(PartedStoreTest, PartThatIsLostClosesOnlyItsLocks) {
  for (int i = 0; i < 30; ++i) ASSERT_TRUE(Acquire("lock " + std::to_string(i)).ok());
  observer_.told.clear();

  Lose(1);
  EXPECT_THAT(observer_.told, ElementsAre("emptied"));
  EXPECT_EQ(observer_.now.epoch, static_cast<int64_t>(kParts) + 1);
  EXPECT_GT(observer_.now.quarantine_left, Micros(0));
  int granted = 0;
  int refused = 0;
  for (int i = 0; i < 30; ++i) {
    const auto answer = Acquire("other lock " + std::to_string(i));
    granted += answer.ok() ? 1 : 0;
    refused += core::ReasonOf(answer.status()) == core::ErrorReason::kStoreQuarantined ? 1 : 0;
  }
  EXPECT_EQ(granted + refused, 30);
  EXPECT_GT(granted, refused);
  EXPECT_GT(refused, 0);

  executor_.AdvanceBy(std::chrono::minutes(1));
  EXPECT_EQ(observer_.now.quarantine_left, Micros(0)) << "its end was told";
}

TEST_F(PartedStoreTest, PartsThatAreLostTogetherAreToldOnce) {
  observer_.told.clear();
  Lose(0);
  Lose(2);
  EXPECT_THAT(observer_.told, ElementsAre("emptied"));
  EXPECT_EQ(observer_.now.epoch, static_cast<int64_t>(kParts) + 2);

  executor_.AdvanceBy(std::chrono::minutes(1));
  Lose(0);
  EXPECT_THAT(observer_.told, ElementsAre("emptied", "emptied")) << "a later loss is another one";
}

TEST_F(PartedStoreTest, QuarantineIsEndedInAllParts) {
  for (int i = 0; i < 30; ++i) ASSERT_TRUE(Acquire("lock " + std::to_string(i)).ok());
  Lose(0);
  Lose(1);
  const int64_t epoch = observer_.now.epoch;

  auto other = EndQuarantine(epoch - 1);
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_FALSE(other->ended) << "something was lost since";
  EXPECT_EQ(other->epoch, epoch);
  EXPECT_GT(other->left, Micros(0));

  const auto ended = EndQuarantine(epoch);
  ASSERT_TRUE(ended.ok()) << ended.status();
  EXPECT_TRUE(ended->ended);
  EXPECT_EQ(observer_.now.quarantine_left, Micros(0));
  for (int i = 0; i < 30; ++i) EXPECT_TRUE(Acquire("other lock " + std::to_string(i)).ok());

  const auto again = EndQuarantine(epoch);
  ASSERT_TRUE(again.ok());
  EXPECT_FALSE(again->ended);
}

}  // namespace
}  // namespace lockkeeper::redis
