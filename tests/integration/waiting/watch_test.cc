// SPDX-License-Identifier: Apache-2.0
//
// WatchLocks over several daemons on one Redis: what one does, those who watch at another one hear.
#include <gmock/gmock.h>

#include <csignal>

#include "integration/waiting/fixture.h"
#include "support/rpc/watch_stream.h"

namespace lockkeeper {
namespace {

using support::WatchStream;

class WatchLocksTest : public WaitingTest {
 protected:
  static v1::AcquireRequest RequestOf(const std::string& name, int lease_number,
                                      const std::string& owner) {
    v1::AcquireRequest request = Request(name, lease_number);
    request.set_owner(owner);
    return request;
  }
};

TEST_F(WatchLocksTest, OneDaemonTellsWhatAnotherOneDoes) {
  Replica here(redis_), there(redis_);
  WatchStream watch(here.client->channel());
  ASSERT_EQ(watch.NextAsText(), "started");
  ASSERT_TRUE(there.client->Acquire(RequestOf("n", 1, "ada")).response.has_lease());
  ASSERT_TRUE(there.client->Extend(support::ExtendOf("n", Id(1))).ok());
  Release(there, "n", 1);
  EXPECT_EQ(watch.NextAsText(), "granted n ada");
  EXPECT_EQ(watch.NextAsText(), "extended n ada");
  EXPECT_EQ(watch.NextAsText(), "released n ada");
}

// What two daemons tell may come in any order.
TEST_F(WatchLocksTest, EachDaemonTellsItsPartOfAHandOverInOrder) {
  Replica here(redis_), there(redis_), watching(redis_);
  WatchStream watch(watching.client->channel());
  ASSERT_EQ(watch.NextAsText(), "started");
  ASSERT_TRUE(here.client->Acquire(RequestOf("n", 1, "ada")).response.has_lease());
  WaitingCall waiter(*there.client, RequestOf("n", 2, "bob"));
  ASSERT_TRUE(WaitForWaiters(here, 1));
  Release(here, "n", 1);
  ASSERT_TRUE(waiter.response().has_lease());
  Release(there, "n", 2);

  std::vector<std::string> of_ada, of_bob;
  for (std::string event = watch.NextAsText(); !event.empty(); event = watch.NextAsText()) {
    if (event == "gap") continue;
    (event.ends_with(" ada") ? of_ada : of_bob).push_back(event);
    if (of_ada.size() + of_bob.size() == 5) break;
  }

  EXPECT_THAT(of_ada, testing::ElementsAre("granted n ada", "released n ada"));
  EXPECT_THAT(of_bob, testing::ElementsAre("waiting n bob", "granted n bob", "released n bob"));
}

TEST_F(WatchLocksTest, AnExpiryIsTold) {
  Replica here(redis_), there(redis_);
  WatchStream watch(here.client->channel());
  ASSERT_EQ(watch.NextAsText(), "started");
  v1::AcquireRequest request = RequestOf("n", 1, "ada");
  request.mutable_ttl()->set_seconds(0);
  request.mutable_ttl()->set_nanos(300'000'000);
  ASSERT_TRUE(there.client->Acquire(request).response.has_lease());
  EXPECT_EQ(watch.NextAsText(), "granted n ada");
  const auto expired = watch.Next();
  ASSERT_TRUE(expired.has_value());
  EXPECT_EQ(expired->kind(), admin::v1::LOCK_EVENT_KIND_EXPIRED);
  EXPECT_EQ(expired->owner(), "ada");
  EXPECT_GT(expired->fencing_token(), 0);
}

TEST_F(WatchLocksTest, AForcedReleaseAtAnotherDaemonIsTold) {
  Replica here(redis_), there(redis_);
  WatchStream watch(here.client->channel());
  ASSERT_EQ(watch.NextAsText(), "started");
  ASSERT_TRUE(there.client->Acquire(RequestOf("n", 1, "ada")).response.has_lease());
  ForceRelease(there, /*now=*/true);
  EXPECT_EQ(watch.NextAsText(), "granted n ada");
  EXPECT_EQ(watch.NextAsText(), "forced n ada");
}

TEST_F(WatchLocksTest, AKilledDaemonIsAGap) {
  Replica here(redis_);
  auto there = std::make_unique<Replica>(redis_);
  WatchStream watch(here.client->channel());
  ASSERT_EQ(watch.NextAsText(), "started");
  there->daemon.Signal(SIGKILL);
  const auto gap = watch.Next();
  ASSERT_TRUE(gap.has_value());
  EXPECT_EQ(gap->gap_reason(), admin::v1::GAP_REASON_DAEMON_GONE);
}

TEST_F(WatchLocksTest, AQuarantineIsTold) {
  Replica here(redis_);
  WatchStream watch(here.client->channel());
  ASSERT_EQ(watch.NextAsText(), "started");
  redis_.Run({"FLUSHALL"});
  const auto began = watch.Next();
  ASSERT_TRUE(began.has_value());
  EXPECT_EQ(began->kind(), admin::v1::LOCK_EVENT_KIND_QUARANTINE_BEGAN);
  EXPECT_GT(began->remaining().seconds(), 0);
}

TEST_F(WatchLocksTest, DrainingEndsTheStream) {
  Replica here(redis_);
  WatchStream watch(here.client->channel());
  ASSERT_EQ(watch.NextAsText(), "started");
  here.daemon.Signal(SIGTERM);
  EXPECT_EQ(watch.NextAsText(), "");
  EXPECT_EQ(support::ReasonOf(watch.Finish()), "SERVER_DRAINING");
  EXPECT_EQ(here.daemon.ExitCode(), 0);
}

}  // namespace
}  // namespace lockkeeper
