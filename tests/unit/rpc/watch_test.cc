// SPDX-License-Identifier: Apache-2.0
//
// WatchLocks at a real server: what a caller sees, how a stream ends, and what a slow caller costs.
// Which events there are is in tests/unit/core/lock_watches_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <string>

#include "core/limits.h"
#include "lockkeeper/admin/v1/admin_service.pb.h"
#include "support/process/cli_process.h"
#include "support/rpc/bearer_channel.h"
#include "support/rpc/error_reason.h"
#include "support/rpc/watch_stream.h"
#include "unit/rpc/access_fixture.h"

namespace lockkeeper::rpc {
namespace {

using admin::v1::LockEvent;
using support::WatchStream;

class WatchTest : public AccessTest {
 protected:
  // Something happened to a lock.
  void Happen(const std::string& name, int64_t token = 1) {
    server_.loop().RunAndWait([&] {
      server_.watches().OnEvent({.kind = core::LockEventKind::kGranted,
                                 .name = name,
                                 .token = {token},
                                 .owner = "ada",
                                 .remaining = core::Millis(30'000),
                                 .lease = static_cast<uint64_t>(token)});
    });
  }

  bool IsWatched(const std::string& name) {
    bool is_watched = false;
    server_.loop().RunAndWait([&] { is_watched = server_.watches().Wants(name); });
    return is_watched;
  }

  // The end of a call is seen by the loop a moment after its client.
  bool WaitUntilNobodyWatches() {
    return support::WaitUntil([this] { return !IsWatched(""); });
  }

  static admin::v1::WatchLocksRequest OfName(const std::string& name) {
    admin::v1::WatchLocksRequest request;
    request.set_name(name);
    return request;
  }
  static admin::v1::WatchLocksRequest OfPrefix(const std::string& prefix) {
    admin::v1::WatchLocksRequest request;
    request.set_prefix(prefix);
    return request;
  }
};

TEST_F(WatchTest, TellsAnEventWithAllItsFields) {
  WatchStream watch(server_.NewChannel());
  ASSERT_EQ(watch.NextAsText(), "started");
  Happen("n", 7);
  const auto event = watch.Next();
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(event->kind(), admin::v1::LOCK_EVENT_KIND_GRANTED);
  EXPECT_EQ(event->name(), "n");
  EXPECT_EQ(event->fencing_token(), 7);
  EXPECT_EQ(event->owner(), "ada");
  EXPECT_EQ(event->remaining().seconds(), 30);
  EXPECT_GT(event->time().seconds(), 0);
  EXPECT_EQ(watch.End().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_TRUE(WaitUntilNobodyWatches());
}

// The later ones wait a moment, for others of their message.
TEST_F(WatchTest, EventsThatComeCloseUponOneAnotherAreAllTold) {
  WatchStream watch(server_.NewChannel());
  ASSERT_EQ(watch.NextAsText(), "started");
  for (int64_t token = 1; token <= 3; ++token) Happen("n", token);
  for (int64_t token = 1; token <= 3; ++token) {
    const auto event = watch.Next();
    ASSERT_TRUE(event.has_value());
    EXPECT_EQ(event->fencing_token(), token);
  }
}

TEST_F(WatchTest, TheNumbersOfTheProtoAreThoseOfTheDomain) {
  EXPECT_EQ(admin::v1::LockEventKind_MAX, static_cast<int>(core::LockEventKind::kQuarantineEnded));
  EXPECT_EQ(admin::v1::LOCK_EVENT_KIND_STARTED, static_cast<int>(core::LockEventKind::kStarted));
  EXPECT_EQ(admin::v1::LOCK_EVENT_KIND_GAP, static_cast<int>(core::LockEventKind::kGap));
  EXPECT_EQ(admin::v1::LOCK_EVENT_KIND_GRANTED, static_cast<int>(core::LockEventKind::kGranted));
  EXPECT_EQ(admin::v1::LOCK_EVENT_KIND_OFFERED, static_cast<int>(core::LockEventKind::kOffered));
  EXPECT_EQ(admin::v1::LOCK_EVENT_KIND_EXTENDED, static_cast<int>(core::LockEventKind::kExtended));
  EXPECT_EQ(admin::v1::LOCK_EVENT_KIND_RELEASED, static_cast<int>(core::LockEventKind::kReleased));
  EXPECT_EQ(admin::v1::LOCK_EVENT_KIND_EXPIRED, static_cast<int>(core::LockEventKind::kExpired));
  EXPECT_EQ(admin::v1::LOCK_EVENT_KIND_LOST, static_cast<int>(core::LockEventKind::kLost));
  EXPECT_EQ(admin::v1::LOCK_EVENT_KIND_FORCED, static_cast<int>(core::LockEventKind::kForced));
  EXPECT_EQ(admin::v1::LOCK_EVENT_KIND_TAKEN_BACK,
            static_cast<int>(core::LockEventKind::kTakenBack));
  EXPECT_EQ(admin::v1::LOCK_EVENT_KIND_WAITING, static_cast<int>(core::LockEventKind::kWaiting));
  EXPECT_EQ(admin::v1::LOCK_EVENT_KIND_LEFT, static_cast<int>(core::LockEventKind::kLeft));
  EXPECT_EQ(admin::v1::GAP_REASON_SLOW_WATCHER, static_cast<int>(core::GapReason::kSlowWatcher));
  EXPECT_EQ(admin::v1::GapReason_MAX, static_cast<int>(core::GapReason::kDaemonJoined));
}

TEST_F(WatchTest, AForcedReleaseIsTold) {
  server_.store().on_force_release = [this](const core::ForceReleaseRequest&, auto done) {
    server_.store().AnswerLater<core::ForceReleaseAnswer>(
        std::move(done), core::ForceReleaseAnswer{.released = true,
                                                  .token = {9},
                                                  .closed_for = core::Millis(5'000),
                                                  .holder_owner = "ada"});
  };
  WatchStream watch(server_.NewChannel());
  ASSERT_EQ(watch.NextAsText(), "started");
  const auto stub = admin::v1::AdminService::NewStub(server_.NewChannel());
  grpc::ClientContext context;
  admin::v1::ForceReleaseRequest request;
  request.set_name("n");
  request.set_reason("test");
  admin::v1::ForceReleaseResponse response;
  ASSERT_TRUE(stub->ForceRelease(&context, request, &response).ok());
  const auto event = watch.Next();
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(event->kind(), admin::v1::LOCK_EVENT_KIND_FORCED);
  EXPECT_EQ(event->owner(), "ada");
  EXPECT_EQ(event->fencing_token(), 9);
  EXPECT_EQ(event->remaining().seconds(), 5);
}

TEST_F(WatchTest, RejectsWhatCannotBeWatched) {
  admin::v1::WatchLocksRequest both = OfName("n");
  both.set_prefix("n");
  WatchStream of_both(server_.NewChannel(), both);
  EXPECT_EQ(of_both.NextAsText(), "");
  const grpc::Status status = of_both.Finish();
  EXPECT_EQ(support::ReasonOf(status), "INVALID_FIELD");
  EXPECT_THAT(status.error_message(), testing::HasSubstr("prefix"));
  WatchStream of_braces(server_.NewChannel(), OfName("a{b}"));
  EXPECT_EQ(of_braces.NextAsText(), "");
  EXPECT_EQ(support::ReasonOf(of_braces.Finish()), "INVALID_FIELD");
  WatchStream too_long(server_.NewChannel(), OfPrefix(std::string(513, 'p')));
  EXPECT_EQ(too_long.NextAsText(), "");
  EXPECT_EQ(support::ReasonOf(too_long.Finish()), "INVALID_FIELD");
}

TEST_F(WatchTest, TooManyWatchesAreRejected) {
  std::deque<WatchStream> watches;
  for (size_t i = 0; i < core::limits::kWatchesPerPrincipalMax; ++i) {
    watches.emplace_back(server_.NewChannel());
    ASSERT_EQ(watches.back().NextAsText(), "started");
  }
  WatchStream one_more(server_.NewChannel());
  EXPECT_EQ(one_more.NextAsText(), "");
  EXPECT_EQ(support::ReasonOf(one_more.Finish()), "RATE_LIMIT");
}

TEST_F(WatchTest, DrainingEndsTheStream) {
  WatchStream watch(server_.NewChannel());
  ASSERT_EQ(watch.NextAsText(), "started");
  server_.loop().RunAndWait([&] { server_.watches().StartDraining(); });
  EXPECT_EQ(watch.NextAsText(), "");
  EXPECT_EQ(support::ReasonOf(watch.Finish()), "SERVER_DRAINING");
}

// --- who may see what ---------------------------------------------------------------------------

constexpr char kReaders[] =
    "roles:\n"
    "  all: {rules: [{verbs: [list, inspect], prefixes: [a/]}, {verbs: list, prefixes: [b/]},\n"
    "                {verbs: inspect, prefixes: [c/]}]}\n"
    "bindings: [{roles: all, principals: worker}]\n";

TEST_F(WatchTest, ShowsOnlyWhatMayBeListedAndInspected) {
  const std::string address = Serve(kReaders);
  WatchStream watch(support::NewBearerChannel(address, "Bearer w"));
  ASSERT_EQ(watch.NextAsText(), "started");
  for (const char* name : {"b/1", "c/1", "d", "a/1"}) Happen(name);
  EXPECT_EQ(watch.NextAsText(), "granted a/1 ada");
}

TEST_F(WatchTest, AWatchOfANameNeedsOnlyTheRightToInspectIt) {
  const std::string address = Serve(kReaders);
  WatchStream watch(support::NewBearerChannel(address, "Bearer w"), OfName("c/1"));
  ASSERT_EQ(watch.NextAsText(), "started");
  Happen("c/1");
  EXPECT_EQ(watch.NextAsText(), "granted c/1 ada");
  WatchStream denied(support::NewBearerChannel(address, "Bearer w"), OfName("b/1"));
  EXPECT_EQ(denied.NextAsText(), "");
  EXPECT_EQ(support::ReasonOf(denied.Finish()), "PERMISSION_DENIED");
  WatchStream unknown(support::NewBearerChannel(address, "Bearer ?"), OfName("c/1"));
  EXPECT_EQ(unknown.NextAsText(), "");
  EXPECT_EQ(support::ReasonOf(unknown.Finish()), "UNAUTHENTICATED");
}

TEST_F(WatchTest, ARightThatIsTakenAwayShowsNothingMore) {
  const std::string address = Serve(kReaders);
  WatchStream watch(support::NewBearerChannel(address, "Bearer w"));
  ASSERT_EQ(watch.NextAsText(), "started");
  access_.Replace(
      Rules("roles: {all: {rules: [{verbs: [list, inspect], prefixes: [z/]}]}}\n"
            "bindings: [{roles: all, principals: worker}]\n"));
  Happen("a/1");
  Happen("z/1");
  EXPECT_EQ(watch.NextAsText(), "granted z/1 ada");
}

TEST_F(WatchTest, ATokenThatExpiresEndsTheStream) {
  tokens_ += Token("worker", "soon", ", expires: 1970-01-01T00:20:00Z");
  const std::string address = Serve(kReaders);
  WatchStream watch(support::NewBearerChannel(address, "Bearer soon"));
  ASSERT_EQ(watch.NextAsText(), "started");
  now_ = 2'000;
  Happen("a/1");
  EXPECT_EQ(watch.NextAsText(), "");
  EXPECT_EQ(support::ReasonOf(watch.Finish()), "UNAUTHENTICATED");
  EXPECT_TRUE(WaitUntilNobodyWatches());
}

// --- a slow caller ------------------------------------------------------------------------------

TEST_F(WatchTest, ACallerThatDoesNotReadGetsAGapAndNotMemory) {
  WatchStream watch(server_.NewChannel());
  ASSERT_EQ(watch.NextAsText(), "started");
  constexpr int kEvents = 100'000;
  const std::string name(500, 'n');
  server_.loop().RunAndWait([&] {
    for (int i = 0; i < kEvents; ++i) {
      server_.watches().OnEvent({.kind = core::LockEventKind::kWaiting, .name = name});
    }
  });
  int64_t told = 0;
  int64_t missed = 0;
  while (told + missed < kEvents) {
    const auto event = watch.Next();
    ASSERT_TRUE(event.has_value());
    if (event->kind() == admin::v1::LOCK_EVENT_KIND_WAITING) {
      ++told;
    } else {
      ASSERT_EQ(event->gap_reason(), admin::v1::GAP_REASON_SLOW_WATCHER);
      missed += event->missed();
    }
  }
  EXPECT_GT(missed, 0);
  EXPECT_EQ(told + missed, kEvents);
}

}  // namespace
}  // namespace lockkeeper::rpc
