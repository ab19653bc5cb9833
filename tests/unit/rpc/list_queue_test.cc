// SPDX-License-Identifier: Apache-2.0
#include "rpc/list_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <vector>

#include "core/limits.h"

namespace lockkeeper::rpc {
namespace {

class FakeList final : public ListQueue::List {
 public:
  explicit FakeList(bool accepted = true) : accepted_(accepted) {}

  bool Begin() override {
    begun_.set_value();
    return accepted_;
  }
  void Cancel() override { cancelled = true; }

  void WaitUntilBegun() { begun_.get_future().wait(); }

  std::atomic<bool> cancelled = false;

 private:
  const bool accepted_;
  std::promise<void> begun_;  // Throws if it begins twice.
};

// The queue comes last, so that its thread has ended when the lists end.
TEST(ListQueue, BeginsOneWhenTheOneBeforeIsAnswered) {
  FakeList first;
  FakeList second;
  ListQueue queue;
  queue.Enter(first);
  queue.Enter(second);
  first.WaitUntilBegun();

  // It waits still: taken out, it never begins.
  EXPECT_TRUE(queue.Withdraw(second));
  queue.Enter(second);
  std::promise<void> answered;
  queue.Answer([&] { answered.set_value(); });
  answered.get_future().wait();
  second.WaitUntilBegun();
  queue.Answer([] {});
  EXPECT_FALSE(queue.Withdraw(first));
}

TEST(ListQueue, GoesOnAfterOneThatWasRefused) {
  FakeList refused(false);
  FakeList second;
  ListQueue queue;
  queue.Enter(refused);
  queue.Enter(second);

  second.WaitUntilBegun();
  queue.Answer([] {});
}

TEST(ListQueue, CancelsTheOldestBeyondItsLimit) {
  FakeList read;
  FakeList last(false);
  std::vector<std::unique_ptr<FakeList>> lists;
  ListQueue queue;
  queue.Enter(read);
  read.WaitUntilBegun();
  queue.Answer([] {});
  queue.Leave(read);
  for (size_t i = 0; i < core::limits::kListsMax; ++i) {
    queue.Enter(*lists.emplace_back(std::make_unique<FakeList>(false)));
  }
  EXPECT_FALSE(lists.front()->cancelled);

  queue.Enter(last);
  EXPECT_TRUE(lists.front()->cancelled);
  EXPECT_FALSE(lists[1]->cancelled);
  last.WaitUntilBegun();
}

}  // namespace
}  // namespace lockkeeper::rpc
