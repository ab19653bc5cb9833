// SPDX-License-Identifier: Apache-2.0
//
// Listing locks: by literal prefix, page by page, each lock once.
#include <algorithm>

#include "contract/redis/redis_contract.h"
#include "core/limits.h"

namespace lockkeeper::support {
namespace {

using core::EndedLocks;
using core::ListRequest;
using core::LockPage;
using testing::ElementsAre;
using testing::Optional;
using testing::UnorderedElementsAre;
using testing::UnorderedElementsAreArray;

class ListContract : public RedisContract {
 protected:
  ListRequest ListOf(const std::string& prefix, int32_t page_size = 1'000,
                     EndedLocks ended = EndedLocks::kLeaveOut) {
    return {prefix, page_size, "", ended, Deadline()};
  }

  static std::vector<std::string> NamesOf(const LockPage& page) {
    std::vector<std::string> names;
    for (const core::LockInfo& lock : page.locks) names.push_back(lock.name);
    return names;
  }

  // Names on all pages, in their order.
  std::vector<std::string> ListAll(ListRequest request) {
    std::vector<std::string> names;
    for (int pages = 0; pages < 10'000; ++pages) {
      request.deadline = Deadline();
      const auto page = Ask(request);
      if (!page.ok()) {
        ADD_FAILURE() << page.status();
        return names;
      }
      EXPECT_LE(static_cast<int32_t>(page->locks.size()), request.page_size);
      for (const std::string& name : NamesOf(*page)) names.push_back(name);
      if (page->next_page_token.empty()) return names;
      request.page_token = page->next_page_token;
    }
    ADD_FAILURE() << "the pages do not end";
    return names;
  }

  // Holds `count` locks, acquired together.
  std::vector<std::string> HoldMany(uint64_t count) {
    std::vector<std::string> names;
    for (uint64_t i = 0; i < count; ++i) names.push_back("lock " + std::to_string(i));
    std::vector<Answer<core::AcquireAnswer>> answers(count);
    world_->OnLoop([&] {
      for (uint64_t i = 0; i < count; ++i) {
        world_->daemon(0).locks.Acquire(AcquireOf(names[i], Id(i)), answers[i].Into());
      }
    });
    for (const auto& answer : answers) EXPECT_TRUE(Await(answer) && answer.value().ok());
    return names;
  }
};

TEST_P(ListContract, EmptyStoreHasNoLocks) {
  const auto page = Ask(ListOf(""));

  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_TRUE(page->locks.empty());
  EXPECT_EQ(page->next_page_token, "");
  EXPECT_EQ(page->unreadable, 0);
}

TEST_P(ListContract, LockIsDescribedAsByGet) {
  core::AcquireRequest request = AcquireOf("a", Id(1));
  request.labels = {{"k", "v"}};
  Grant(request);
  StepBy(Millis(500));

  const auto page = Ask(ListOf(""));

  ASSERT_TRUE(page.ok()) << page.status();
  ASSERT_EQ(page->locks.size(), 1U);
  const core::LockInfo listed = page->locks.front();
  const core::LockInfo got = Get("a");
  EXPECT_EQ(listed.name, got.name);
  EXPECT_EQ(listed.state, got.state);
  EXPECT_EQ(listed.token, got.token);
  EXPECT_EQ(listed.owner, got.owner);
  EXPECT_EQ(listed.labels, got.labels);
  EXPECT_EQ(listed.remaining_ttl, got.remaining_ttl);
  EXPECT_EQ(listed.lease_end, got.lease_end);
}

TEST_P(ListContract, PrefixIsTakenLiterally) {
  const std::vector<std::string> names = {"a*b", "a?b", "a[x]b", "axb", "a\\b",
                                          "a-b", "a^b", "a",     "b*"};
  for (size_t i = 0; i < names.size(); ++i) Grant(names[i], Id(i));

  EXPECT_THAT(ListAll(ListOf("a*")), ElementsAre("a*b"));
  EXPECT_THAT(ListAll(ListOf("a?")), ElementsAre("a?b"));
  EXPECT_THAT(ListAll(ListOf("a[")), ElementsAre("a[x]b"));
  EXPECT_THAT(ListAll(ListOf("a[x]")), ElementsAre("a[x]b"));
  EXPECT_THAT(ListAll(ListOf("a\\")), ElementsAre("a\\b"));
  EXPECT_THAT(ListAll(ListOf("a-")), ElementsAre("a-b"));
  EXPECT_THAT(ListAll(ListOf("a^")), ElementsAre("a^b"));
  EXPECT_THAT(ListAll(ListOf("*")), ElementsAre());
  EXPECT_THAT(ListAll(ListOf("b")), ElementsAre("b*"));
  EXPECT_THAT(ListAll(ListOf("axbc")), ElementsAre());
  EXPECT_THAT(ListAll(ListOf("")), UnorderedElementsAreArray(names));
}

TEST_P(ListContract, EndedLocksAreListedOnRequestOnly) {
  Grant("held", Id(1));
  Grant("released", Id(2));
  Release("released", Id(2));
  core::AcquireRequest brief = AcquireOf("expired", Id(3));
  brief.ttl = Millis(100);
  Grant(brief);
  Release("only void ids", Id(4));
  StepBy(Millis(200));

  EXPECT_THAT(ListAll(ListOf("")), ElementsAre("held"));
  EXPECT_THAT(ListAll(ListOf("", 1'000, EndedLocks::kInclude)),
              UnorderedElementsAre("held", "released", "expired"));
}

TEST_P(ListContract, PagesHoldEachLockOnceWhateverTheirSize) {
  const std::vector<std::string> names = HoldMany(150);

  for (const int32_t page_size : {1, 7, 149, 150, 151, core::limits::kPageSizeMax}) {
    EXPECT_THAT(ListAll(ListOf("lock ", page_size)), UnorderedElementsAreArray(names)) << page_size;
  }
}

TEST_P(ListContract, ManyLocksAreListedCompletely) {
  const std::vector<std::string> names = HoldMany(3'000);

  std::vector<std::string> listed = ListAll(ListOf(""));
  std::sort(listed.begin(), listed.end());
  std::vector<std::string> expected = names;
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(listed, expected);
}

TEST_P(ListContract, LocksThatStayAreListedWhileOthersComeAndGo) {
  const std::vector<std::string> names = HoldMany(200);
  ListRequest request = ListOf("lock ", 9);
  std::vector<std::string> listed;
  for (uint64_t round = 0;; ++round) {
    const auto page = Ask(request);
    ASSERT_TRUE(page.ok()) << page.status();
    for (const std::string& name : NamesOf(*page)) listed.push_back(name);
    if (page->next_page_token.empty()) break;
    request.page_token = page->next_page_token;
    Grant("passing " + std::to_string(round), Id(10'000 + round));
    Grant("lock that passes " + std::to_string(round), Id(20'000 + round));
    Release("passing " + std::to_string(round), Id(10'000 + round));
  }

  for (const std::string& name : names) {
    EXPECT_GE(std::count(listed.begin(), listed.end(), name), 1) << name;
  }
}

TEST_P(ListContract, LocksThatStayAreListedWhileListedOnesGo) {
  const std::vector<std::string> names = HoldMany(60);
  ListRequest request = ListOf("lock ", 10);
  std::vector<std::string> listed;
  for (;;) {
    const auto page = Ask(request);
    ASSERT_TRUE(page.ok()) << page.status();
    for (const std::string& name : NamesOf(*page)) {
      listed.push_back(name);
      if (listed.size() % 2 == 0) world_->Run({"DEL", KeyOf(name)});
    }
    if (page->next_page_token.empty()) break;
    request.page_token = page->next_page_token;
  }

  EXPECT_THAT(listed, UnorderedElementsAreArray(names));
}

TEST_P(ListContract, UnreadableRecordsAreCountedAndHideNothing) {
  Grant("good", Id(1));
  PutRecord("garbage", "garbage");
  PutRecord("newer", "2 something");
  world_->Run({"HSET", KeyOf("wrong type"), "field", "value"});

  const auto page = Ask(ListOf(""));

  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_THAT(NamesOf(*page), ElementsAre("good"));
  EXPECT_EQ(page->unreadable, 3);
}

TEST_P(ListContract, KeysThatAreNoRecordsAreNotListed) {
  Grant("a", Id(1));
  for (const std::string key :
       {"other", "lk:", "lk:{", "lk:{}", "lk:{b", "xlk:{b}", "lk:b", "lk:{b}:line"}) {
    world_->Run({"SET", key, RecordOf("a")});
  }

  EXPECT_THAT(ListAll(ListOf("")), ElementsAre("a"));
}

TEST_P(ListContract, PageTokenOfSomebodyElseIsRefused) {
  for (const std::string token :
       {"x", "1", "1.", ".1", "-1.0", "1.-1", "1.1.1", "1 .1", "99999999999999999999.0"}) {
    ListRequest request = ListOf("");
    request.page_token = token;
    const auto page = Ask(request);
    EXPECT_THAT(ReasonOf(page), Optional(ErrorReason::kInvalidField)) << token;
    EXPECT_EQ(core::FieldOf(page.status()), "page_token");
  }
}

LOCKKEEPER_REDIS_SUITE(ListContract);

}  // namespace
}  // namespace lockkeeper::support
