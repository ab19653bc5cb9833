// SPDX-License-Identifier: Apache-2.0
//
// What those who watch locks are told, at one daemon and over several. The daemons are whole
// domains on one store in memory; the test carries their messages, or loses them.
#include "core/lock_watches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "core/domain.h"
#include "core/errors.h"
#include "core/limits.h"
#include "core/watched_lock_observer.h"
#include "support/manual_executor.h"
#include "support/memory_store.h"
#include "unit/core/pending_store.h"

namespace lockkeeper::core {

void PrintTo(const LockEvent& event, std::ostream* out) {
  *out << "event " << static_cast<int>(event.kind) << " of '" << event.name << "' by '"
       << event.owner << "', token " << event.token.value << ", gap "
       << static_cast<int>(event.gap);
}

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;
using testing::SizeIs;
using Kind = LockEventKind;

// Carries what daemons tell each other: in the next turn, unless it is lost or doubled.
class Bus {
 public:
  explicit Bus(Executor& executor) : executor_(executor) {}

  class Port final : public WatchExchange {
   public:
    Port(Bus& bus, std::string id) : bus_(bus), id_(std::move(id)) {}
    ~Port() override { bus_.listeners_.erase(id_); }

    void Listen(WatchExchangeListener& listener) override { bus_.listeners_[id_] = &listener; }
    void TellInterest(const WatchInterest& interest,
                      absl::AnyInvocable<void(size_t) &&> done) override {
      for (const auto& [id, listener] : bus_.listeners_) {
        bus_.Carry(id, [interest](WatchExchangeListener& to) { to.OnInterest(interest); });
      }
      bus_.executor_.Post([count = bus_.knows_daemons ? bus_.listeners_.size() : 0,
                           done = std::move(done)]() mutable { std::move(done)(count); });
    }
    void Send(const std::string& to, const EventBatch& batch,
              absl::AnyInvocable<void() &&> done) override {
      ++bus_.batches;
      bus_.Carry(to, [batch](WatchExchangeListener& listener) { listener.OnBatch(batch); });
      if (bus_.is_stuck) {
        bus_.stuck.push_back(std::move(done));
      } else {
        bus_.executor_.Post([done = std::move(done)]() mutable { std::move(done)(); });
      }
    }

   private:
    Bus& bus_;
    const std::string id_;
  };

  bool loses = false;
  bool doubles = false;
  bool knows_daemons = true;
  bool is_stuck = false;  // The store does not take what is sent.
  std::deque<absl::AnyInvocable<void() &&>> stuck;
  int batches = 0;

 private:
  void Carry(const std::string& to, const std::function<void(WatchExchangeListener&)>& message) {
    for (int i = 0; i < (loses ? 0 : doubles ? 2 : 1); ++i) {
      executor_.Post([this, to, message] {
        const auto found = listeners_.find(to);
        if (found != listeners_.end()) message(*found->second);
      });
    }
  }

  Executor& executor_;
  std::map<std::string, WatchExchangeListener*> listeners_;
};

class Daemon {
 public:
  Daemon(const std::string& id, uint64_t number, Bus& bus, support::MemoryServer& server,
         const Clock& clock, Executor& executor)
      : number_(number),
        port_(bus, id),
        store_(server, executor),
        watches_(id, store_, &port_, clock, executor),
        observer_(nobody_, watches_),
        domain_(store_, nullptr, clock, executor, observer_, {}) {}

  LockWatches& watches() { return watches_; }
  LockManager& locks() { return domain_.locks(); }
  support::MemoryStore& store() { return store_; }
  bool Wants(const std::string& name) const { return watches_.Wants(name); }

  AcquireRequest RequestFor(const std::string& name, uint64_t lease, const std::string& owner,
                            Millis ttl = seconds(30), Millis wait = Millis(0)) const {
    AcquireRequest request;
    request.name = name;
    request.lease_id = LeaseId::FromBits(1, lease);
    request.attempt = 1;
    request.ttl = ttl;
    request.wait_timeout = wait;
    request.owner = owner;
    request.principal = "team";
    request.keeper = Keeper(number_, lease);
    request.deadline = Instant::max();
    return request;
  }
  Caught<AcquireAnswer>& Acquire(const std::string& name, uint64_t lease, const std::string& owner,
                                 Millis ttl = seconds(30), Millis wait = Millis(0)) {
    answers_.emplace_back();
    locks().Acquire(RequestFor(name, lease, owner, ttl, wait), answers_.back().Into());
    return answers_.back();
  }
  void Extend(const std::string& name, uint64_t lease, bool is_heartbeat = false) {
    ExtendRequest request;
    request.name = name;
    request.lease_id = LeaseId::FromBits(1, lease);
    request.principal = "team";
    request.deadline = Instant::max();
    request.is_heartbeat = is_heartbeat;
    extended_.emplace_back();
    locks().Extend(std::move(request), extended_.back().Into());
  }
  void Release(const std::string& name, uint64_t lease) {
    released_.emplace_back();
    locks().Release({name, LeaseId::FromBits(1, lease), "team", Instant::max()},
                    released_.back().Into());
  }

 private:
  const uint64_t number_;
  Bus::Port port_;
  support::MemoryStore store_;
  LockWatches watches_;
  RecordingObserver nobody_;
  WatchedLockObserver observer_;
  Domain domain_;
  std::deque<Caught<AcquireAnswer>> answers_;
  std::deque<Caught<Lease>> extended_;
  std::deque<Caught<ReleaseAnswer>> released_;
};

// Its reads fail at first.
class FailingReads final : public AdminStore {
 public:
  explicit FailingReads(AdminStore& store) : store_(store) {}

  void Get(const std::string& name, Instant deadline, Done<std::optional<LockInfo>> done) override {
    if (fails) return std::move(done)(Error(ErrorReason::kStoreUnavailable, "away"));
    store_.Get(name, deadline, std::move(done));
  }
  void List(const ListRequest& request, Done<LockPage> done) override {
    store_.List(request, std::move(done));
  }
  void ForceRelease(const ForceReleaseRequest& request, Done<ForceReleaseAnswer> done) override {
    store_.ForceRelease(request, std::move(done));
  }
  void EndQuarantine(const EndQuarantineRequest& request, Done<EndQuarantineAnswer> done) override {
    store_.EndQuarantine(request, std::move(done));
  }

  bool fails = true;

 private:
  AdminStore& store_;
};

class Watcher final : public WatchListener {
 public:
  void OnEvent(const LockEvent& event) override { events.push_back(event); }
  void OnEnd(const absl::Status& why) override { end = why; }

  // What came since the last call.
  std::vector<LockEvent> Take() { return std::exchange(events, {}); }

  std::vector<LockEvent> events;
  std::optional<absl::Status> end;
};

auto Is(Kind kind, const std::string& name = "", const std::string& owner = "") {
  return AllOf(Field("kind", &LockEvent::kind, kind), Field("name", &LockEvent::name, name),
               Field("owner", &LockEvent::owner, owner));
}

auto IsGap(GapReason why, int64_t missed = 0) {
  return AllOf(Is(Kind::kGap), Field("gap", &LockEvent::gap, why),
               Field("missed", &LockEvent::missed, missed));
}

class LockWatchesTest : public testing::Test {
 protected:
  // A moment passes, too: the store would not call a shorter lease held.
  void Run() { executor_.AdvanceBy(milliseconds(1)); }

  // A watch that has started.
  void Watch(Daemon& daemon, Watcher& watcher, const WatchFilter& filter = {}) {
    ASSERT_TRUE(daemon.watches().Open(filter, "ada", watcher).ok());
    Run();
    ASSERT_THAT(watcher.Take(), ElementsAre(Is(Kind::kStarted)));
  }

  // A lease of the lock `a` that the store has granted.
  struct Seen {
    FencingToken token;
    uint64_t lease;
    std::string owner;

    LockEvent Granted(Micros remaining) const {
      return {.kind = Kind::kGranted,
              .name = "a",
              .token = token,
              .owner = owner,
              .remaining = remaining,
              .lease = lease};
    }
  };
  static uint64_t NumberOf(uint64_t lease) { return LeaseNumber(LeaseId::FromBits(1, lease)); }
  // The daemons do not hear what happens to it.
  Seen HoldUnheard(uint64_t lease, const std::string& owner, Millis ttl = seconds(30)) {
    Caught<AcquireAnswer> answer;
    there_->store().Acquire(there_->RequestFor("a", lease, owner, ttl), answer.Into());
    Run();
    return {std::get<Lease>(*answer.value()).token, NumberOf(lease), owner};
  }
  void ReleaseUnheard(uint64_t lease) {
    there_->store().Release({"a", LeaseId::FromBits(1, lease), "team", Instant::max()},
                            [](const auto&) {});
    Run();
  }

  support::ManualClock clock_;
  support::ManualExecutor executor_{clock_};
  support::MemoryServer server_{clock_, seconds(60)};
  Bus bus_{executor_};
  std::optional<Daemon> here_{std::in_place, "here", 1, bus_, server_, clock_, executor_};
  std::optional<Daemon> there_{std::in_place, "there", 2, bus_, server_, clock_, executor_};
  Watcher watcher_;
};

TEST_F(LockWatchesTest, TellsTheLifeOfALease) {
  Watch(*here_, watcher_);
  here_->Acquire("a", 1, "ada");
  Run();
  here_->Extend("a", 1);
  Run();
  here_->Release("a", 1);
  Run();
  const auto events = watcher_.Take();
  ASSERT_THAT(events, ElementsAre(Is(Kind::kGranted, "a", "ada"), Is(Kind::kExtended, "a", "ada"),
                                  Is(Kind::kReleased, "a", "ada")));
  for (const LockEvent& event : events) {
    EXPECT_EQ(event.token, events[0].token);
    EXPECT_EQ(event.principal, "team");
  }
  EXPECT_GT(events[0].token.value, 0);
  EXPECT_EQ(events[0].remaining, seconds(30));
}

TEST_F(LockWatchesTest, ARepeatedReleaseIsNotTold) {
  here_->Acquire("a", 1, "ada");
  Run();
  Watch(*here_, watcher_);
  here_->Release("a", 1);
  here_->Release("a", 1);
  Run();
  EXPECT_THAT(watcher_.Take(), ElementsAre(Is(Kind::kReleased, "a")));
}

TEST_F(LockWatchesTest, OfHeartbeatsOnlyALossIsTold) {
  Watch(*here_, watcher_);
  here_->Acquire("a", 1, "ada");
  Run();
  watcher_.Take();
  here_->Extend("a", 1, /*is_heartbeat=*/true);
  Run();
  EXPECT_THAT(watcher_.Take(), IsEmpty());
  here_->Extend("a", 2, /*is_heartbeat=*/true);
  Run();
  EXPECT_THAT(watcher_.Take(), ElementsAre(Is(Kind::kLost, "a")));
}

TEST_F(LockWatchesTest, WhatOtherDaemonsDoIsToldToo) {
  Watch(*here_, watcher_);
  there_->Acquire("a", 1, "ada");
  Run();
  there_->Release("a", 1);
  Run();
  EXPECT_THAT(watcher_.Take(),
              ElementsAre(Is(Kind::kGranted, "a", "ada"), Is(Kind::kReleased, "a", "ada")));
}

// Otherwise every operation would pay for events that nobody hears.
TEST_F(LockWatchesTest, EventsAreMadeOnlyWhileSomebodyWatchesTheLock) {
  EXPECT_FALSE(there_->Wants("a"));
  Watch(*here_, watcher_, {.text = "a"});
  EXPECT_TRUE(there_->Wants("a1"));
  EXPECT_FALSE(there_->Wants("b"));
  here_->watches().Close(watcher_);
  Run();
  EXPECT_FALSE(there_->Wants("a1"));
  EXPECT_FALSE(here_->Wants("a1"));
  there_->Acquire("a", 1, "ada");
  Run();
  EXPECT_THAT(watcher_.Take(), IsEmpty());
}

TEST_F(LockWatchesTest, AnInterestThatIsNotRepeatedEnds) {
  Watch(*here_, watcher_);
  here_.reset();
  executor_.AdvanceBy(seconds(4));
  there_->Acquire("a", 1, "ada");
  Run();
  EXPECT_FALSE(there_->Wants("a"));
}

TEST_F(LockWatchesTest, AWatchOfANameHearsOfThatLockOnly) {
  Watch(*here_, watcher_, {.match = WatchFilter::Match::kName, .text = "a"});
  here_->Acquire("a", 1, "ada");
  here_->Acquire("ab", 2, "bob");
  there_->Acquire("aa", 3, "eve");
  Run();
  EXPECT_THAT(watcher_.Take(), ElementsAre(Is(Kind::kGranted, "a", "ada")));
}

TEST_F(LockWatchesTest, AnExpiryIsFoundAlthoughNobodyAsksForTheLock) {
  Watch(*here_, watcher_);
  there_->Acquire("a", 1, "ada", seconds(5));
  Run();
  const FencingToken token = watcher_.Take().at(0).token;
  executor_.AdvanceBy(milliseconds(4'900));
  EXPECT_THAT(watcher_.Take(), IsEmpty());
  executor_.AdvanceBy(milliseconds(200));
  const auto events = watcher_.Take();
  ASSERT_THAT(events, ElementsAre(Is(Kind::kExpired, "a", "ada")));
  EXPECT_EQ(events[0].token, token);
  executor_.AdvanceBy(seconds(20));
  EXPECT_THAT(watcher_.Take(), IsEmpty()) << "it expires once";
}

TEST_F(LockWatchesTest, ALeaseThatHeartbeatsExtendDoesNotExpire) {
  Watch(*here_, watcher_);
  there_->Acquire("a", 1, "ada", seconds(5));
  Run();
  watcher_.Take();
  for (int i = 0; i < 10; ++i) {
    executor_.AdvanceBy(seconds(2));
    there_->Extend("a", 1, /*is_heartbeat=*/true);
    Run();
  }
  EXPECT_THAT(watcher_.Take(), IsEmpty());
  executor_.AdvanceBy(seconds(6));
  EXPECT_THAT(watcher_.Take(), ElementsAre(Is(Kind::kExpired, "a", "ada")));
}

TEST_F(LockWatchesTest, OfMoreLocksThanMayBeFollowedTheExpiryIsNotTold) {
  std::vector<LockEvent> told;
  WatchedLeases leases(
      here_->store(), clock_, executor_, [&](const LockEvent& event) { told.push_back(event); },
      /*locks_max=*/2);
  uint64_t lease = 0;
  for (const char* const name : {"a", "b", "c"}) {
    auto& answer = here_->Acquire(name, ++lease, "ada", seconds(1));
    Run();
    leases.Take({.kind = Kind::kGranted,
                 .name = name,
                 .token = std::get<Lease>(*answer.value()).token,
                 .owner = "ada",
                 .remaining = seconds(1),
                 .lease = lease});
  }
  executor_.AdvanceBy(seconds(60));

  EXPECT_THAT(told, ElementsAre(Is(Kind::kGranted, "a", "ada"), Is(Kind::kGranted, "b", "ada"),
                                Is(Kind::kGranted, "c", "ada"), Is(Kind::kExpired, "a", "ada"),
                                Is(Kind::kExpired, "b", "ada")));
}

// The grant after a forced end says that the lease before expired, and so does the one after a
// grant that was taken back.
TEST_F(LockWatchesTest, AnEndThatWasToldIsNotToldAsAnExpiryToo) {
  for (const Kind end : {Kind::kForced, Kind::kTakenBack}) {
    std::vector<LockEvent> told;
    WatchedLeases leases(here_->store(), clock_, executor_,
                         [&](const LockEvent& event) { told.push_back(event); });
    LockEvent grant{.kind = Kind::kGranted,
                    .name = "a",
                    .token = {1},
                    .owner = "ada",
                    .remaining = seconds(30),
                    .lease = 1};
    leases.Take(grant);
    leases.Take({.kind = end, .name = "a", .token = {2}, .lease = 1});
    executor_.AdvanceBy(seconds(80));  // The lock stays closed until the lease would have ended.
    grant.token = {3};
    grant.owner = "bob";
    grant.previous_lease_expired = true;
    leases.Take(grant);

    EXPECT_THAT(told, ElementsAre(Is(Kind::kGranted, "a", "ada"), Is(end, "a", "ada"),
                                  Is(Kind::kGranted, "a", "bob")));
  }
}

// A Redis that had lost it got it back by its holder's proof.
TEST_F(LockWatchesTest, ALeaseThatIsBackCanExpire) {
  std::vector<LockEvent> told;
  WatchedLeases leases(here_->store(), clock_, executor_,
                       [&](const LockEvent& event) { told.push_back(event); });
  LockEvent event{.kind = Kind::kGranted,
                  .name = "a",
                  .token = {1},
                  .owner = "ada",
                  .remaining = seconds(5),
                  .lease = 1};
  leases.Take(event);
  executor_.AdvanceBy(seconds(6));
  event.kind = Kind::kExtended;
  leases.Take(event);
  executor_.AdvanceBy(seconds(4));
  leases.Take({.kind = Kind::kGranted,
               .name = "a",
               .token = {2},
               .owner = "bob",
               .remaining = seconds(5),
               .previous_lease_expired = true,
               .lease = 2});

  EXPECT_THAT(told, ElementsAre(Is(Kind::kGranted, "a", "ada"), Is(Kind::kGap, "a"),
                                Is(Kind::kExtended, "a", "ada"), Is(Kind::kExpired, "a", "ada"),
                                Is(Kind::kGranted, "a", "bob")));
}

// The watch of a name reads the lock first.
TEST_F(LockWatchesTest, ALeaseFromBeforeTheWatchOfItsNameExpires) {
  there_->Acquire("a", 1, "ada", seconds(5));
  Run();
  Watch(*here_, watcher_, {.match = WatchFilter::Match::kName, .text = "a"});
  executor_.AdvanceBy(seconds(6));
  EXPECT_THAT(watcher_.Take(), ElementsAre(Is(Kind::kExpired, "a", "ada")));
}

TEST_F(LockWatchesTest, AnExpiryIsToldBeforeTheGrantThatFollowsIt) {
  Watch(*here_, watcher_);
  there_->Acquire("a", 1, "ada", seconds(5));
  there_->Acquire("a", 2, "bob", seconds(5), seconds(20));
  Run();
  EXPECT_THAT(watcher_.Take(),
              ElementsAre(Is(Kind::kGranted, "a", "ada"), Is(Kind::kWaiting, "a", "bob")));
  executor_.AdvanceBy(milliseconds(5'300));
  const auto events = watcher_.Take();
  ASSERT_THAT(events, ElementsAre(Is(Kind::kExpired, "a", "ada"), Is(Kind::kGranted, "a", "bob")));
  EXPECT_LT(events[0].token, events[1].token);
  EXPECT_TRUE(events[1].previous_lease_expired);
  EXPECT_GE(events[1].waited, seconds(5));
}

TEST_F(LockWatchesTest, WhatBecomesOfAWaiterFromBeforeTheWatchIsTold) {
  there_->Acquire("a", 1, "ada");
  there_->Acquire("a", 2, "bob", seconds(30), seconds(20));
  there_->Acquire("a", 3, "eve", seconds(30), seconds(5));
  Run();
  Watch(*here_, watcher_);
  there_->Release("a", 1);
  Run();
  EXPECT_THAT(watcher_.Take(),
              ElementsAre(Is(Kind::kReleased, "a"), Is(Kind::kGranted, "a", "bob")));
  executor_.AdvanceBy(seconds(6));
  EXPECT_THAT(watcher_.Take(), ElementsAre(Is(Kind::kLeft, "a", "eve")));
}

TEST_F(LockWatchesTest, AReleaseOfWhichNobodyHeardTheAnswerIsToldAtTheEndOfItsLease) {
  Watch(*here_, watcher_);
  there_->Acquire("a", 1, "ada", seconds(5));
  Run();
  const FencingToken token = watcher_.Take().at(0).token;
  Caught<ReleaseAnswer> lost;
  there_->store().Release({"a", LeaseId::FromBits(1, 1), "team", Instant::max()}, lost.Into());
  executor_.AdvanceBy(milliseconds(5'100));
  const auto events = watcher_.Take();
  ASSERT_THAT(events, ElementsAre(Is(Kind::kReleased, "a", "ada")));
  EXPECT_EQ(events[0].token, token);
}

TEST_F(LockWatchesTest, AWaiterThatLeavesIsTold) {
  Watch(*here_, watcher_);
  here_->Acquire("a", 1, "ada");
  here_->Acquire("a", 2, "bob", seconds(30), seconds(1));
  Run();
  watcher_.Take();
  executor_.AdvanceBy(milliseconds(1'100));
  EXPECT_THAT(watcher_.Take(), ElementsAre(Is(Kind::kLeft, "a", "bob")));
}

TEST_F(LockWatchesTest, AGrantThatIsTakenBackIsTold) {
  Watch(*here_, watcher_);
  const auto& answer = here_->Acquire("a", 1, "ada");
  Run();
  watcher_.Take();
  here_->locks().Withdraw(std::get<Lease>(*answer.value()), 1, Keeper(1, 1));
  Run();
  EXPECT_THAT(watcher_.Take(), ElementsAre(Is(Kind::kTakenBack, "a", "ada")));
}

// --- order and loss ---------------------------------------------------------------------------

LockEvent Granted(int64_t token, uint64_t lease, const std::string& owner) {
  return {.kind = Kind::kGranted,
          .name = "a",
          .token = {token},
          .owner = owner,
          .remaining = seconds(30),
          .lease = lease};
}

// The release of a lease and the grant of the next one are told by two daemons.
TEST_F(LockWatchesTest, AReleaseThatComesAfterTheNextGrantIsOfItsOwnLease) {
  Watch(*here_, watcher_);
  here_->watches().OnEvent(Granted(5, 50, "ada"));
  here_->watches().OnEvent(Granted(6, 60, "bob"));
  here_->watches().OnEvent({.kind = Kind::kReleased, .name = "a", .lease = 50});
  const auto events = watcher_.Take();
  ASSERT_THAT(events, SizeIs(3));
  EXPECT_THAT(events[2], Is(Kind::kReleased, "a", "ada"));
  EXPECT_EQ(events[2].token.value, 5);
}

TEST_F(LockWatchesTest, TheFirstExtendOfAnOfferIsItsGrant) {
  Watch(*here_, watcher_);
  LockEvent offer = Granted(5, 50, "ada");
  offer.kind = Kind::kOffered;
  offer.waited = seconds(7);
  here_->watches().OnEvent(offer);
  for (int i = 0; i < 2; ++i) {
    here_->watches().OnEvent({.kind = Kind::kExtended,
                              .name = "a",
                              .token = {5},
                              .remaining = seconds(30),
                              .lease = 50});
  }
  const auto events = watcher_.Take();
  ASSERT_THAT(events, ElementsAre(Is(Kind::kOffered, "a", "ada"), Is(Kind::kGranted, "a", "ada"),
                                  Is(Kind::kExtended, "a", "ada")));
  EXPECT_EQ(events[1].waited, seconds(7));
  EXPECT_EQ(events[2].waited, Micros(0));
}

TEST_F(LockWatchesTest, AnOfferThatLapsesIsNoLeaseThatExpires) {
  here_->Acquire("a", 1, "ada", seconds(1));
  Run();
  Watch(*here_, watcher_);
  LockEvent offer = Granted(0, 50, "ada");
  offer.kind = Kind::kOffered;
  offer.token = server_.Get("a")->token;
  offer.remaining = milliseconds(1'100);
  here_->watches().OnEvent(offer);
  executor_.AdvanceBy(seconds(3));
  EXPECT_THAT(watcher_.Take(), ElementsAre(Is(Kind::kOffered, "a", "ada")));
}

// Nobody's wait was in vain: the expiry is that of the lease before all of them.
TEST_F(LockWatchesTest, OffersThatLapseOneAfterTheOtherAreNoLeasesThatExpire) {
  Watch(*here_, watcher_);
  here_->watches().OnEvent(Granted(4, 40, "ada"));
  for (const int64_t token : {5, 6, 7}) {
    LockEvent offer = Granted(token, static_cast<uint64_t>(token) * 10, "bob");
    if (token < 7) offer.kind = Kind::kOffered;
    offer.previous_lease_expired = true;
    here_->watches().OnEvent(offer);
  }
  here_->watches().OnEvent({.kind = Kind::kTakenBack, .name = "a", .lease = 60});
  const auto events = watcher_.Take();
  ASSERT_THAT(events,
              ElementsAre(Is(Kind::kGranted, "a", "ada"), Is(Kind::kExpired, "a", "ada"),
                          Is(Kind::kOffered, "a", "bob"), Is(Kind::kOffered, "a", "bob"),
                          Is(Kind::kGranted, "a", "bob"), Is(Kind::kTakenBack, "a", "bob")));
  EXPECT_EQ(events[1].token.value, 4);
  EXPECT_EQ(events[5].token.value, 6);
}

TEST_F(LockWatchesTest, AClaimThatWasMissedIsToldAtTheEndOfItsOffer) {
  there_->Acquire("a", 1, "ada", seconds(5));
  Run();
  Watch(*here_, watcher_);
  LockEvent offer = Granted(server_.Get("a")->token.value, NumberOf(1), "ada");
  offer.kind = Kind::kOffered;
  offer.remaining = seconds(1);
  here_->watches().OnEvent(offer);
  executor_.AdvanceBy(milliseconds(1'100));
  EXPECT_THAT(watcher_.Take(),
              ElementsAre(Is(Kind::kOffered, "a", "ada"), Is(Kind::kGranted, "a", "ada")));
  executor_.AdvanceBy(seconds(5));
  EXPECT_THAT(watcher_.Take(), ElementsAre(Is(Kind::kExpired, "a", "ada")));
}

// The look at the store, at the end of the lease that is known, is faster than another daemon.
TEST_F(LockWatchesTest, AReleaseThatComesAfterALookAtTheNextLeaseIsOfItsOwnLease) {
  const Seen ada = HoldUnheard(1, "ada");
  Watch(*here_, watcher_);
  here_->watches().OnEvent(ada.Granted(seconds(1)));
  ReleaseUnheard(1);
  const Seen bob = HoldUnheard(2, "bob");
  executor_.AdvanceBy(milliseconds(1'100));
  here_->watches().OnEvent({.kind = Kind::kReleased, .name = "a", .lease = NumberOf(1)});
  here_->watches().OnEvent(bob.Granted(seconds(30)));
  const auto events = watcher_.Take();
  ASSERT_THAT(events, ElementsAre(Is(Kind::kGranted, "a", "ada"), Is(Kind::kReleased, "a", "ada"),
                                  Is(Kind::kGranted, "a", "bob")));
  EXPECT_EQ(events[1].token, ada.token);
}

// An end and its lease are told by two daemons.
TEST_F(LockWatchesTest, AReleaseThatComesBeforeItsGrantIsToldAgainAfterIt) {
  Watch(*here_, watcher_);
  here_->watches().OnEvent({.kind = Kind::kReleased, .name = "a", .lease = 50});
  here_->watches().OnEvent(Granted(5, 50, "ada"));
  const auto events = watcher_.Take();
  ASSERT_THAT(events, ElementsAre(Is(Kind::kReleased, "a"), Is(Kind::kGranted, "a", "ada"),
                                  Is(Kind::kReleased, "a", "ada")));
  EXPECT_EQ(events[2].token.value, 5);
  executor_.AdvanceBy(seconds(40));
  EXPECT_THAT(watcher_.Take(), IsEmpty()) << "it is not followed";
}

TEST_F(LockWatchesTest, AReleaseThatComesBeforeItsClaimIsToldAgainAfterIt) {
  Watch(*here_, watcher_);
  LockEvent offer = Granted(5, 50, "ada");
  offer.kind = Kind::kOffered;
  here_->watches().OnEvent(offer);
  here_->watches().OnEvent({.kind = Kind::kReleased, .name = "a", .lease = 50});
  here_->watches().OnEvent(Granted(5, 50, "ada"));
  EXPECT_THAT(watcher_.Take(),
              ElementsAre(Is(Kind::kOffered, "a", "ada"), Is(Kind::kReleased, "a", "ada"),
                          Is(Kind::kGranted, "a", "ada"), Is(Kind::kReleased, "a", "ada")));
}

TEST_F(LockWatchesTest, OnlySoManyReleasesAreKeptForTheirGrants) {
  std::vector<LockEvent> told;
  WatchedLeases leases(here_->store(), clock_, executor_,
                       [&](const LockEvent& event) { told.push_back(event); });
  constexpr uint64_t kMost = 10'000;
  for (uint64_t lease = 1; lease <= kMost + 1; ++lease) {
    leases.Take({.kind = Kind::kReleased, .name = "a", .lease = lease});
  }
  told.clear();
  leases.Take(Granted(1, 1, "ada"));
  EXPECT_THAT(told, ElementsAre(Is(Kind::kGranted, "a", "ada")));
  leases.Take(Granted(2, kMost + 1, "bob"));
  EXPECT_THAT(told, ElementsAre(Is(Kind::kGranted, "a", "ada"), Is(Kind::kGranted, "a", "bob"),
                                Is(Kind::kReleased, "a", "bob")));
  executor_.AdvanceBy(seconds(6));
  told.clear();
  leases.Take(Granted(3, kMost, "eve"));
  EXPECT_THAT(told, ElementsAre(Is(Kind::kGranted, "a", "eve"))) << "too long after it";
}

// --- ends of which nobody heard the answer ------------------------------------------------------

TEST_F(LockWatchesTest, AForcedEndOfWhichNobodyHeardTheAnswerIsToldAtTheEndOfItsLease) {
  const Seen ada = HoldUnheard(1, "ada", seconds(5));
  Watch(*here_, watcher_);
  here_->watches().OnEvent(ada.Granted(seconds(5)));
  there_->store().ForceRelease({.name = "a", .delay = ReleaseDelay::kNone}, [](const auto&) {});
  executor_.AdvanceBy(milliseconds(5'100));
  const auto events = watcher_.Take();
  ASSERT_THAT(events, ElementsAre(Is(Kind::kGranted, "a", "ada"), Is(Kind::kForced, "a", "ada")));
  EXPECT_EQ(events[1].token, server_.Get("a")->token);
}

TEST_F(LockWatchesTest, AGrantTakenBackOfWhichNobodyHeardTheAnswerIsToldAtTheEndOfItsLease) {
  const Seen ada = HoldUnheard(1, "ada", seconds(5));
  Watch(*here_, watcher_);
  here_->watches().OnEvent(ada.Granted(seconds(5)));
  there_->store().Withdraw({.name = "a",
                            .lease_id = LeaseId::FromBits(1, 1),
                            .attempt = 1,
                            .keeper = Keeper(2, 1),
                            .deadline = Instant::max()},
                           [](const auto&) {});
  executor_.AdvanceBy(milliseconds(5'100));
  EXPECT_THAT(watcher_.Take(),
              ElementsAre(Is(Kind::kGranted, "a", "ada"), Is(Kind::kTakenBack, "a", "ada")));
}

TEST_F(LockWatchesTest, WhatBecameOfALeaseThatNobodyTellsIsAGap) {
  const Seen ada = HoldUnheard(1, "ada");
  Watch(*here_, watcher_);
  here_->watches().OnEvent(ada.Granted(seconds(1)));
  ReleaseUnheard(1);
  HoldUnheard(2, "bob");
  ReleaseUnheard(2);
  executor_.AdvanceBy(milliseconds(1'100));
  EXPECT_THAT(watcher_.Take(), ElementsAre(Is(Kind::kGranted, "a", "ada")))
      << "it may be on its way";
  executor_.AdvanceBy(milliseconds(1'100));
  EXPECT_THAT(watcher_.Take(), ElementsAre(Is(Kind::kGap, "a")));
}

TEST_F(LockWatchesTest, ALeaseOfWhichTheStoreKeepsNothingIsAGap) {
  Watch(*here_, watcher_);
  here_->watches().OnEvent(Granted(5, 50, "ada"));
  executor_.AdvanceBy(seconds(31));
  EXPECT_THAT(watcher_.Take(), ElementsAre(Is(Kind::kGranted, "a", "ada"), Is(Kind::kGap, "a")));
}

// --- gaps ---------------------------------------------------------------------------------------

// Who looks after a gap knows the holder; this tells him of its end.
TEST_F(LockWatchesTest, ALeaseThatBeganInAGapExpires) {
  Watch(*here_, watcher_, {.match = WatchFilter::Match::kName, .text = "a"});
  bus_.loses = true;
  there_->Acquire("a", 1, "ada", seconds(5));
  Run();
  bus_.loses = false;
  executor_.AdvanceBy(milliseconds(1'100));
  EXPECT_THAT(watcher_.Take(), ElementsAre(IsGap(GapReason::kMessagesLost, 1)));
  executor_.AdvanceBy(seconds(5));
  EXPECT_THAT(watcher_.Take(), ElementsAre(Is(Kind::kExpired, "a", "ada")));
}

TEST_F(LockWatchesTest, AClaimInAGapIsNoOfferThatLapses) {
  const Seen ada = HoldUnheard(1, "ada", seconds(5));
  Watch(*here_, watcher_, {.match = WatchFilter::Match::kName, .text = "a"});
  LockEvent offer = ada.Granted(seconds(4));
  offer.kind = Kind::kOffered;
  here_->watches().OnEvent(offer);
  bus_.loses = true;
  there_->watches().OnEvent(ada.Granted(seconds(5)));
  Run();
  bus_.loses = false;
  executor_.AdvanceBy(seconds(7));
  EXPECT_THAT(watcher_.Take(),
              ElementsAre(Is(Kind::kOffered, "a", "ada"), IsGap(GapReason::kMessagesLost, 1),
                          Is(Kind::kExpired, "a", "ada")));
}

TEST_F(LockWatchesTest, ALookThatFailsIsRepeated) {
  HoldUnheard(1, "ada", seconds(5));
  FailingReads store(here_->store());
  LockWatches watches("alone", store, nullptr, clock_, executor_);
  ASSERT_TRUE(
      watches.Open({.match = WatchFilter::Match::kName, .text = "a"}, "ada", watcher_).ok());
  Run();
  store.fails = false;
  executor_.AdvanceBy(seconds(6));
  EXPECT_THAT(watcher_.Take(), ElementsAre(Is(Kind::kStarted), Is(Kind::kExpired, "a", "ada")));
}

// It may have had events before it heard of the watch.
TEST_F(LockWatchesTest, ADaemonThatHearsOfAWatchAfterItsStartIsAGap) {
  Watch(*here_, watcher_, {.text = "a"});
  bus_.loses = true;
  Watcher second;
  ASSERT_TRUE(here_->watches().Open({.text = "b"}, "ada", second).ok());
  executor_.AdvanceBy(milliseconds(2'100));
  EXPECT_THAT(second.Take(), ElementsAre(Is(Kind::kStarted)));
  there_->Acquire("b", 1, "ada");
  bus_.loses = false;
  executor_.AdvanceBy(milliseconds(1'100));
  EXPECT_THAT(second.Take(), ElementsAre(IsGap(GapReason::kDaemonJoined)));
  EXPECT_THAT(watcher_.Take(), IsEmpty());
}

// Redis is away, or does not tell which daemons listen.
TEST_F(LockWatchesTest, AWatchOfWhichNobodyIsToldHasGaps) {
  Watch(*here_, watcher_);
  bus_.knows_daemons = false;
  executor_.AdvanceBy(milliseconds(3'400));
  EXPECT_THAT(watcher_.Take(), IsEmpty());
  executor_.AdvanceBy(seconds(10));
  EXPECT_THAT(watcher_.Take(),
              ElementsAre(IsGap(GapReason::kMessagesLost), IsGap(GapReason::kMessagesLost),
                          IsGap(GapReason::kMessagesLost)));
  bus_.knows_daemons = true;
  executor_.AdvanceBy(seconds(10));
  EXPECT_THAT(watcher_.Take(), SizeIs(testing::Le(1U)));
}

TEST_F(LockWatchesTest, MessagesThatAreLostAreAGap) {
  Watch(*here_, watcher_);
  bus_.loses = true;
  there_->Acquire("a", 1, "ada");
  there_->Acquire("b", 2, "ada");
  Run();
  bus_.loses = false;
  there_->Acquire("c", 3, "ada");
  Run();
  EXPECT_THAT(watcher_.Take(),
              ElementsAre(IsGap(GapReason::kMessagesLost, 2), Is(Kind::kGranted, "c", "ada")));
}

// Otherwise the last message of all would be missed for ever.
TEST_F(LockWatchesTest, ALostMessageIsNoticedAlthoughNothingFollows) {
  Watch(*here_, watcher_);
  bus_.loses = true;
  there_->Acquire("a", 1, "ada");
  Run();
  bus_.loses = false;
  executor_.AdvanceBy(milliseconds(1'100));
  EXPECT_THAT(watcher_.Take(), ElementsAre(IsGap(GapReason::kMessagesLost, 1)));
}

// A Cluster brings a message once for each primary.
TEST_F(LockWatchesTest, MessagesThatComeTwiceAreToldOnce) {
  bus_.doubles = true;
  Watch(*here_, watcher_);
  there_->Acquire("a", 1, "ada");
  Run();
  there_->Release("a", 1);
  Run();
  executor_.AdvanceBy(seconds(3));
  EXPECT_THAT(watcher_.Take(),
              ElementsAre(Is(Kind::kGranted, "a", "ada"), Is(Kind::kReleased, "a", "ada")));
}

TEST_F(LockWatchesTest, ADaemonThatDiesIsAGap) {
  Watch(*here_, watcher_);
  there_.reset();
  executor_.AdvanceBy(seconds(6));
  EXPECT_THAT(watcher_.Take(), ElementsAre(IsGap(GapReason::kDaemonGone)));
}

TEST_F(LockWatchesTest, ADaemonThatStopsInOrderIsNone) {
  Watch(*here_, watcher_);
  there_->Acquire("a", 1, "ada");
  Run();
  there_->watches().Stop();
  there_.reset();
  executor_.AdvanceBy(seconds(6));
  EXPECT_THAT(watcher_.Take(), ElementsAre(Is(Kind::kGranted, "a", "ada")));
}

TEST_F(LockWatchesTest, ADaemonThatJoinsIsAGap) {
  Watch(*here_, watcher_);
  Daemon third("third", 3, bus_, server_, clock_, executor_);
  executor_.AdvanceBy(milliseconds(1'100));
  EXPECT_THAT(watcher_.Take(), ElementsAre(IsGap(GapReason::kDaemonJoined)));
}

TEST_F(LockWatchesTest, ADaemonThatForgotTheInterestIsAGap) {
  Watch(*here_, watcher_);
  bus_.loses = true;
  executor_.AdvanceBy(milliseconds(3'900));
  bus_.loses = false;
  there_->Acquire("a", 1, "ada");  // Not told any more.
  Run();
  executor_.AdvanceBy(seconds(2));
  EXPECT_THAT(watcher_.Take(), testing::Contains(Is(Kind::kGap)));
}

TEST_F(LockWatchesTest, WhatTheStoreDoesNotTakeIsBounded) {
  Watch(*here_, watcher_);
  bus_.is_stuck = true;
  const int before = bus_.batches;
  constexpr uint64_t kEvents = limits::kWatchUnreadMax * 3;
  for (uint64_t i = 0; i < kEvents; ++i) {
    there_->watches().OnEvent(Granted(static_cast<int64_t>(i) + 1, i + 1, "ada"));
    executor_.RunUntilIdle();
  }
  EXPECT_LE(bus_.batches - before, 4);
  bus_.is_stuck = false;
  while (!bus_.stuck.empty()) {
    auto done = std::move(bus_.stuck.front());
    bus_.stuck.pop_front();
    std::move(done)();
    executor_.RunUntilIdle();
  }
  const auto events = watcher_.Take();
  int64_t told = 0;
  int64_t missed = 0;
  for (const LockEvent& event : events) {
    event.kind == Kind::kGap ? missed += event.missed : ++told;
  }
  EXPECT_GT(missed, 0);
  EXPECT_EQ(told + missed, static_cast<int64_t>(kEvents)) << "what was dropped is counted";
}

// --- the beginning and the end ----------------------------------------------------------------

TEST_F(LockWatchesTest, AWatchStartsWhenAllDaemonsHaveHeardOfIt) {
  bus_.loses = true;
  ASSERT_TRUE(here_->watches().Open({}, "ada", watcher_).ok());
  Run();
  EXPECT_THAT(watcher_.Take(), IsEmpty()) << "the other one has not heard of it";
  there_->Acquire("a", 1, "ada");
  bus_.loses = false;
  executor_.AdvanceBy(milliseconds(1'100));
  EXPECT_THAT(watcher_.Take(), ElementsAre(Is(Kind::kStarted)));
  there_->Acquire("b", 2, "ada");
  Run();
  EXPECT_THAT(watcher_.Take(), ElementsAre(Is(Kind::kGranted, "b", "ada")));
}

// With the first watch all daemons are known, but they do not tell of other locks yet.
TEST_F(LockWatchesTest, ASecondWatchWaitsUntilAllHaveHeardOfItToo) {
  Watch(*here_, watcher_, {.text = "a"});
  bus_.loses = true;
  Watcher second;
  ASSERT_TRUE(here_->watches().Open({.text = "b"}, "ada", second).ok());
  Run();
  EXPECT_THAT(second.Take(), IsEmpty());
  bus_.loses = false;
  executor_.AdvanceBy(milliseconds(1'100));
  EXPECT_THAT(second.Take(), ElementsAre(Is(Kind::kStarted)));
}

TEST_F(LockWatchesTest, AWatchStartsAfterAWhileAlthoughTheStoreIsAway) {
  bus_.knows_daemons = false;
  ASSERT_TRUE(here_->watches().Open({}, "ada", watcher_).ok());
  Run();
  executor_.AdvanceBy(milliseconds(1'900));
  EXPECT_THAT(watcher_.Take(), IsEmpty());
  executor_.AdvanceBy(milliseconds(200));
  EXPECT_THAT(watcher_.Take(), ElementsAre(Is(Kind::kStarted)));
}

TEST_F(LockWatchesTest, DrainingEndsWatchesAndOthersStillHear) {
  Watcher other;
  Watch(*here_, watcher_);
  Watch(*there_, other);
  here_->watches().StartDraining();
  ASSERT_TRUE(watcher_.end.has_value());
  EXPECT_EQ(ReasonOf(*watcher_.end), ErrorReason::kServerDraining);
  EXPECT_EQ(ReasonOf(here_->watches().Open({}, "ada", watcher_)), ErrorReason::kServerDraining);
  here_->Acquire("a", 1, "ada");
  Run();
  EXPECT_THAT(other.Take(), ElementsAre(Is(Kind::kGranted, "a", "ada")));
}

TEST_F(LockWatchesTest, PrincipalHasOnlySoManyWatchesAndTakesNoneFromOthers) {
  std::deque<Watcher> watchers(limits::kWatchesPerPrincipalMax);
  for (Watcher& watcher : watchers) ASSERT_TRUE(here_->watches().Open({}, "ada", watcher).ok());
  EXPECT_EQ(ReasonOf(here_->watches().Open({}, "ada", watcher_)), ErrorReason::kRateLimit);
  Watcher other;
  EXPECT_TRUE(here_->watches().Open({}, "bob", other).ok());
  here_->watches().Close(watchers.front());
  EXPECT_TRUE(here_->watches().Open({}, "ada", watcher_).ok());
}

TEST_F(LockWatchesTest, ThereAreOnlySoManyWatches) {
  std::deque<Watcher> watchers(limits::kWatchesMax);
  int number = 0;
  for (Watcher& watcher : watchers) {
    ASSERT_TRUE(here_->watches().Open({}, "principal " + std::to_string(++number), watcher).ok());
  }
  EXPECT_EQ(ReasonOf(here_->watches().Open({}, "ada", watcher_)), ErrorReason::kRateLimit);
  here_->watches().Close(watchers.front());
  EXPECT_TRUE(here_->watches().Open({}, "ada", watcher_).ok());
}

TEST_F(LockWatchesTest, AQuarantineIsToldWhateverTheFilter) {
  Watch(*here_, watcher_, {.match = WatchFilter::Match::kName, .text = "a"});
  here_->watches().OnQuarantine(seconds(7));
  here_->watches().OnQuarantine(Micros(0));
  const auto events = watcher_.Take();
  ASSERT_THAT(events, ElementsAre(Is(Kind::kQuarantineBegan), Is(Kind::kQuarantineEnded)));
  EXPECT_EQ(events[0].remaining, seconds(7));
}

// The number that releases carry from one daemon to another must be the same in all builds.
TEST(LeaseNumberTest, IsTheSameInAllBuilds) {
  EXPECT_EQ(LeaseNumber(LeaseId::FromBits(0, 1)), 0x7c02c05d9cbe33f2U);
}

}  // namespace
}  // namespace lockkeeper::core
