// SPDX-License-Identifier: Apache-2.0
//
// Leases that a daemon restores after a loss: they keep their locks closed, and no more, until
// their holders are heard of.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "redis/format/lock_record.h"
#include "redis/format/record_columns.h"
#include "redis/format/store_marker.h"
#include "scripts/script_calls.h"
#include "scripts/twin_servers.h"

namespace lockkeeper::support {
namespace {

using core::Micros;
using core::Millis;
using Strings = std::vector<std::string>;

constexpr Millis kTtl{30'000};
constexpr Millis kQuarantine{60'000};
constexpr int64_t kToken = 7;

// Outcomes of the scripts.
constexpr int64_t kGranted = 1;
constexpr int64_t kContended = 3;
constexpr int64_t kRefused = 9;
constexpr int64_t kClosed = 10;
constexpr int64_t kExtended = 1;
constexpr int64_t kExtendLost = 3;
constexpr int64_t kForgotten = 4;
constexpr int64_t kReleased = 1;
constexpr int64_t kHeldAgain = 1;
constexpr int64_t kLost = 3;
constexpr int64_t kAdmitted = 1;
constexpr int64_t kStale = 2;
constexpr int64_t kOver = 3;
constexpr int64_t kUnknown = 4;

// What a daemon remembers of a lease that it told its client of, or a proof says of it.
struct Remembered {
  uint64_t id = 1;
  int64_t token = kToken;
  Micros left = Millis(10'000);  // Below 0: it is over.
  Millis lock_delay{0};
  Micros hold_left{0};  // Until hold_at_least opens the lock. 0: none.
  std::string keeper;
};

class RestoreScriptTest : public testing::TestWithParam<std::string> {
 protected:
  RestoreScriptTest() {
    EXPECT_TRUE(servers_.RunAll(LoadCommands()));
    BeginEpoch(kQuarantine);
  }

  // A new epoch begins with a quarantine, which lasts so long.
  void BeginEpoch(Millis quarantine) {
    ++marker_.epoch;
    marker_.quarantine_end = {servers_.Now().micros + Micros(quarantine).count()};
    const std::string text = marker_.Text() + " 0000000000000001 0000000000000000";
    servers_.Run({"SET", "lk:store", text});
  }

  void EndQuarantine() {
    const Micros left(marker_.quarantine_end.micros - servers_.Now().micros);
    if (left > Micros(0)) servers_.AdvanceBy(left);
  }

  redis::Reply Call(const redis::ScriptSource& script, size_t keys, const Strings& arguments) {
    const CommonArguments common{.epoch = redis::Digits(marker_.epoch, 10),
                                 .stamp = marker_.Stamp() + " 0000000000000001",
                                 .grants_from = redis::Digits(marker_.quarantine_end.micros, 16)};
    const Strings call = CallOf(script, keys, KeysOfLock("a", keys), arguments, common);
    return servers_.Run({call.begin(), call.end()});
  }
  static int64_t OutcomeOf(const redis::Reply& reply) {
    return reply.items.size() < 2 ? -1 : reply.items[1].integer;
  }

  Strings Arguments(const Remembered& lease, const std::string& left) {
    const int64_t now = servers_.Now().micros;
    const int64_t hold = lease.hold_left.count();
    return {redis::EncodeLeaseId(ScriptId(lease.id)),
            redis::Digits(lease.token, 16),
            redis::Digits(kTtl.count(), 8),
            redis::Digits(lease.lock_delay.count(), 8),
            redis::Digits(0, 16),
            redis::Digits(now + lease.left.count(), 16),
            redis::Digits(hold == 0 ? 0 : now + hold, 16),
            "",
            lease.keeper,
            left};
  }
  redis::Reply RestoreReply(const Remembered& lease) {
    return Call(redis::kReassertScript, 2, Arguments(lease, std::to_string(lease.left.count())));
  }
  int64_t Restore(const Remembered& lease = {}) { return OutcomeOf(RestoreReply(lease)); }
  // As its holder does.
  int64_t Prove(const Remembered& lease = {}) {
    return OutcomeOf(Call(redis::kReassertScript, 2, Arguments(lease, "")));
  }

  int64_t Acquire(uint64_t id, int32_t attempt = 1) {
    core::AcquireRequest request = ScriptAcquire(ScriptId(id));
    request.attempt = attempt;
    const redis::Reply reply = Call(redis::kAcquireScript, 2, AcquireArguments(request, 0));
    return OutcomeOf(reply);
  }
  int64_t Extend(uint64_t id = 1) {
    return OutcomeOf(
        Call(redis::kExtendScript, 1,
             {std::string(ScriptId(id).digits()), redis::Digits(kTtl.count(), 8), "", ""}));
  }
  int64_t Release(uint64_t id = 1) {
    return OutcomeOf(Call(redis::kReleaseScript, 2, {redis::EncodeLeaseId(ScriptId(id)), ""}));
  }
  int64_t Fence(int64_t token = kToken, bool live = false) {
    return OutcomeOf(Call(redis::kFenceScript, 1, {std::to_string(token), live ? "1" : "0"}));
  }
  // Whether the lease of the record is shown as unproven.
  bool IsUnproven() { return Call(redis::kInspectScript, 1, {}).items.at(2).integer == 1; }

  std::string Record() { return servers_.Run({"GET", "lk:{a}"}).text; }
  char Claim() {
    const std::string record = Record();
    return record.size() < 226 ? '?' : record[225];
  }
  Micros LeaseLeft() { return Left(redis::column::kLeaseEnd.Of(Record())); }
  Micros ClosedFor() { return Left(redis::column::kClosedUntil.Of(Record())); }

  TwinServers servers_{GetParam()};
  redis::StoreMarker marker_{.service_id = std::string(16, '5'),
                             .run_id = std::string(40, '7'),
                             .ttl_ceiling = kTtl,
                             .durable = true,
                             .home = std::string(16, '0'),
                             .reassertion_key = std::string(32, '3')};

 private:
  Micros Left(std::string_view digits) {
    return Micros(std::stoll(std::string(digits)) - servers_.Now().micros);
  }
};

TEST_P(RestoreScriptTest, LeaseIsRestoredForAsLongAsItHasLeft) {
  const redis::Reply reply = RestoreReply({.left = Micros(12'345'678)});

  EXPECT_EQ(OutcomeOf(reply), kHeldAgain);
  EXPECT_EQ(reply.items.at(2).integer, kToken);
  EXPECT_EQ(LeaseLeft(), Micros(12'345'678)) << "not its ttl";
  EXPECT_EQ(ClosedFor(), Micros(12'345'678));
  EXPECT_EQ(Claim(), 'U');
  EXPECT_EQ(Acquire(2), kContended);
}

TEST_P(RestoreScriptTest, NothingIsRestoredWithoutAQuarantine) {
  EndQuarantine();
  EXPECT_EQ(Restore(), kLost);
  EXPECT_EQ(Record(), "");
}

// It was restored in the quarantine: a late copy of the call must not put its end off.
TEST_P(RestoreScriptTest, RestoredLeaseIsNotRestoredAgainAfterTheQuarantine) {
  ASSERT_EQ(Restore({.left = Millis(90'000)}), kHeldAgain);
  EndQuarantine();
  EXPECT_EQ(Restore({.left = Millis(90'000)}), kLost);
  EXPECT_EQ(LeaseLeft(), Millis(30'000));
}

TEST_P(RestoreScriptTest, LockIsFreeOnceARestoredLeaseIsOver) {
  BeginEpoch(Millis(5'000));
  ASSERT_EQ(Restore(), kHeldAgain);
  EndQuarantine();
  EXPECT_EQ(Acquire(2), kContended);
  servers_.AdvanceBy(Millis(5'000) - Micros(1));
  EXPECT_EQ(Acquire(2), kContended);
  servers_.AdvanceBy(Micros(1));
  EXPECT_NE(Acquire(2), kContended);
  EXPECT_EQ(Fence(), kStale);
}

TEST_P(RestoreScriptTest, RepeatDoesNothing) {
  ASSERT_EQ(Restore(), kHeldAgain);
  const std::string record = Record();
  servers_.AdvanceBy(Millis(1'000));
  EXPECT_EQ(Restore({.left = Millis(9'000)}), kHeldAgain);
  EXPECT_EQ(redis::column::kLeaseEnd.Of(Record()), redis::column::kLeaseEnd.Of(record));
  EXPECT_EQ(Claim(), 'U');
}

TEST_P(RestoreScriptTest, LaterOfTwoEndsCounts) {
  ASSERT_EQ(Restore({.left = Millis(10'000)}), kHeldAgain);
  EXPECT_EQ(Restore({.left = Millis(5'000)}), kHeldAgain);
  EXPECT_EQ(LeaseLeft(), Millis(10'000));
  EXPECT_EQ(Restore({.left = Millis(20'000)}), kHeldAgain);
  EXPECT_EQ(LeaseLeft(), Millis(20'000));
}

TEST_P(RestoreScriptTest, RestoredLeaseIsNotExtendedInTheQuarantine) {
  ASSERT_EQ(Restore(), kHeldAgain);
  EXPECT_EQ(Extend(), kForgotten) << "its holder has to prove it";
  EXPECT_EQ(Claim(), 'U');
  EXPECT_EQ(LeaseLeft(), Millis(10'000));
}

TEST_P(RestoreScriptTest, RestoredLeaseIsExtendedAfterTheQuarantineAndCountsThenAsAnyOther) {
  BeginEpoch(Millis(5'000));
  ASSERT_EQ(Restore(), kHeldAgain);
  EndQuarantine();
  EXPECT_EQ(Fence(), kUnknown);

  EXPECT_EQ(Extend(), kExtended);

  EXPECT_EQ(Claim(), 'C');
  EXPECT_EQ(LeaseLeft(), kTtl);
  EXPECT_EQ(Fence(), kAdmitted);
}

TEST_P(RestoreScriptTest, RestoredLeaseWithHoldAtLeastIsExtendedAfterTheQuarantine) {
  BeginEpoch(Millis(5'000));
  ASSERT_EQ(Restore({.hold_left = Millis(90'000)}), kHeldAgain);
  EXPECT_EQ(Claim(), 'U');
  EndQuarantine();

  EXPECT_EQ(Extend(), kExtended);

  EXPECT_EQ(Claim(), 'c');
  EXPECT_EQ(ClosedFor(), Millis(85'000));
}

// Its holder has given it up, and may have given its lock further.
TEST_P(RestoreScriptTest, ExtendThatComesTooLateDoesNotMakeItsTokenTheNewest) {
  BeginEpoch(Millis(5'000));
  ASSERT_EQ(Restore(), kHeldAgain);
  servers_.AdvanceBy(Millis(10'000));
  EXPECT_EQ(Extend(), kExtendLost);
  EXPECT_EQ(Fence(), kUnknown);
}

TEST_P(RestoreScriptTest, TokenOfARestoredLeaseIsUnknown) {
  ASSERT_EQ(Restore(), kHeldAgain);
  EXPECT_EQ(Fence(), kUnknown);
  EXPECT_EQ(Fence(kToken, true), kUnknown);
  EXPECT_EQ(Fence(kToken - 1), kStale) << "a higher one was told";
  EndQuarantine();
  EXPECT_EQ(Fence(), kUnknown) << "though its lease is over";
}

TEST_P(RestoreScriptTest, RestoredLeaseIsReleasedAndItsTokenStaysUnknown) {
  ASSERT_EQ(Restore({.lock_delay = Millis(5'000)}), kHeldAgain);
  EXPECT_EQ(Release(), kReleased);
  EXPECT_EQ(Fence(), kUnknown);
  EXPECT_EQ(Restore(), kLost) << "it is known to have ended";
  EXPECT_EQ(Prove(), kLost);
  EXPECT_EQ(Acquire(2), kRefused) << "the lock is free, but for the quarantine";
  EndQuarantine();
  EXPECT_EQ(Fence(), kUnknown);
  EXPECT_EQ(Acquire(2), kGranted);
}

TEST_P(RestoreScriptTest, ReleaseOfARestoredLeaseLeavesItsHoldAtLeast) {
  ASSERT_EQ(Restore({.hold_left = Millis(90'000)}), kHeldAgain);
  EXPECT_EQ(Release(), kReleased);
  EXPECT_EQ(Fence(), kUnknown);
  EndQuarantine();
  EXPECT_EQ(Acquire(2), kClosed);
  EXPECT_EQ(Fence(), kUnknown);
  servers_.AdvanceBy(Millis(30'000));
  EXPECT_EQ(Acquire(2), kGranted);
}

TEST_P(RestoreScriptTest, ProofTakesARestoredLeaseOver) {
  ASSERT_EQ(Restore(), kHeldAgain);
  EXPECT_EQ(Prove(), kHeldAgain);
  EXPECT_EQ(Claim(), 'D');
  EXPECT_EQ(LeaseLeft(), kTtl);
  EXPECT_EQ(Fence(), kAdmitted);
  EXPECT_EQ(Extend(), kExtended);
}

TEST_P(RestoreScriptTest, ProofNeverShortensARestoredLease) {
  ASSERT_EQ(Restore({.left = Millis(50'000)}), kHeldAgain);
  EXPECT_EQ(Prove(), kHeldAgain);
  EXPECT_EQ(LeaseLeft(), Millis(50'000));
}

TEST_P(RestoreScriptTest, RestoringAfterAProofKeepsTheProof) {
  ASSERT_EQ(Prove(), kHeldAgain);
  EXPECT_EQ(Restore({.left = Millis(50'000)}), kHeldAgain);
  EXPECT_EQ(Claim(), 'D');
  EXPECT_EQ(LeaseLeft(), Millis(50'000)) << "its end was told";
  EXPECT_EQ(Fence(), kAdmitted);
  EXPECT_EQ(Extend(), kExtended);
}

TEST_P(RestoreScriptTest, RestoringAfterAProofDoesNotShortenTheLease) {
  ASSERT_EQ(Prove(), kHeldAgain);
  EXPECT_EQ(Restore(), kHeldAgain);
  EXPECT_EQ(LeaseLeft(), kTtl);
  EXPECT_EQ(Claim(), 'D');
}

// The session that has adopted it has proved it, at another daemon than the one that restores it.
TEST_P(RestoreScriptTest, RestoringAfterAnAdoptionLeavesTheLeaseToItsAdopter) {
  const std::string adopter(core::Keeper::OfHolder(7).digits());
  ASSERT_EQ(Prove({.keeper = adopter}), kHeldAgain);
  ASSERT_EQ(Restore(), kHeldAgain);
  EXPECT_EQ(redis::column::kKeeper.Of(Record()), adopter);
}

TEST_P(RestoreScriptTest, HigherTokenWinsInBothOrders) {
  ASSERT_EQ(Restore({.id = 1, .token = 7}), kHeldAgain);
  EXPECT_EQ(Restore({.id = 2, .token = 8}), kHeldAgain);
  EXPECT_EQ(Restore({.id = 1, .token = 7}), kLost);
  EXPECT_EQ(Prove({.id = 1, .token = 7}), kLost);
  EXPECT_EQ(Fence(7), kStale);
  EXPECT_EQ(Fence(8), kUnknown);
  EXPECT_EQ(Prove({.id = 2, .token = 8}), kHeldAgain);
  EXPECT_EQ(Fence(8), kAdmitted);
}

TEST_P(RestoreScriptTest, ProofOfAHigherTokenOutdoesARestoredLease) {
  ASSERT_EQ(Restore({.id = 1, .token = 7}), kHeldAgain);
  EXPECT_EQ(Prove({.id = 2, .token = 8}), kHeldAgain);
  EXPECT_EQ(Claim(), 'D');
  EXPECT_EQ(Restore({.id = 1, .token = 7}), kLost);
}

TEST_P(RestoreScriptTest, RestoredHigherTokenOutdoesAProof) {
  ASSERT_EQ(Prove({.id = 1, .token = 7}), kHeldAgain);
  EXPECT_EQ(Restore({.id = 2, .token = 8}), kHeldAgain);
  EXPECT_EQ(Extend(1), kForgotten);
  EXPECT_EQ(Claim(), 'U');
}

TEST_P(RestoreScriptTest, LeaseThatIsOverKeepsItsLockClosedByItsLockDelay) {
  EXPECT_EQ(Restore({.left = -Millis(2'000), .lock_delay = Millis(9'000)}), kHeldAgain);
  EXPECT_EQ(ClosedFor(), Millis(7'000));
  EXPECT_EQ(LeaseLeft(), -Millis(2'000));
  EXPECT_EQ(Acquire(2), kClosed);
  EXPECT_EQ(Fence(), kUnknown);
}

TEST_P(RestoreScriptTest, LeaseThatIsOverKeepsItsLockClosedByHoldAtLeast) {
  EXPECT_EQ(Restore({.left = -Millis(2'000), .hold_left = Millis(90'000)}), kHeldAgain);
  EXPECT_EQ(ClosedFor(), Millis(90'000));
  EndQuarantine();
  EXPECT_EQ(Acquire(2), kClosed);
  EXPECT_EQ(Extend(), kExtendLost);
  EXPECT_EQ(Fence(), kUnknown);
  servers_.AdvanceBy(Millis(30'000));
  EXPECT_EQ(Acquire(2), kGranted + 1) << "the lease before was not released";
}

TEST_P(RestoreScriptTest, LeaseWhoseLockIsFreeIsNotRestored) {
  EXPECT_EQ(Restore({.left = -Millis(2'000), .lock_delay = Millis(2'000)}), kLost);
  EXPECT_EQ(Restore({.left = Micros(0)}), kLost);
  EXPECT_EQ(Record(), "");
}

// Its answer would tell the client of a lease that may have been given further.
TEST_P(RestoreScriptTest, RepeatOfTheAcquireIsRefusedInTheQuarantine) {
  ASSERT_EQ(Restore(), kHeldAgain);
  EXPECT_EQ(Acquire(1), kRefused);
  EXPECT_EQ(Acquire(1, 2), kRefused);
  EXPECT_EQ(Claim(), 'U');
  ASSERT_EQ(Prove(), kHeldAgain);
  EXPECT_EQ(Acquire(1, 2), kGranted);
}

TEST_P(RestoreScriptTest, RestoredLeaseIsShownAsUnprovenInTheQuarantine) {
  ASSERT_EQ(Restore({.left = Millis(90'000)}), kHeldAgain);
  EXPECT_TRUE(IsUnproven());
  EndQuarantine();
  EXPECT_FALSE(IsUnproven()) << "it keeps its lock closed";
}

TEST_P(RestoreScriptTest, ProvedLeaseIsShownAsItIs) {
  ASSERT_EQ(Restore(), kHeldAgain);
  ASSERT_EQ(Prove(), kHeldAgain);
  EXPECT_FALSE(IsUnproven());
}

TEST_P(RestoreScriptTest, RecordOfTheEpochBeforeIsRestoredWithItsOwner) {
  BeginEpoch(Millis(0));
  ASSERT_EQ(Acquire(1), kGranted);
  const std::string token(redis::column::kToken.Of(Record()));
  BeginEpoch(kQuarantine);

  EXPECT_EQ(Restore({.token = std::stoll(token), .left = Millis(25'000)}), kHeldAgain);

  EXPECT_EQ(LeaseLeft(), Millis(25'000)) << "what was told counts, not the clock of that record";
  EXPECT_NE(Record().find("\nowner\n"), std::string::npos);
  EXPECT_EQ(Claim(), 'U');
}

// The store forgets again, and all restore again.
TEST_P(RestoreScriptTest, RestoredLeaseOfAnEpochBeforeIsRestoredOrProvedAgain) {
  ASSERT_EQ(Restore(), kHeldAgain);
  BeginEpoch(kQuarantine);
  EXPECT_EQ(Extend(), kForgotten);
  EXPECT_EQ(Acquire(2), kRefused) << "it is free, but for the quarantine";
  EXPECT_EQ(Restore({.left = Millis(8'000)}), kHeldAgain);
  EXPECT_EQ(LeaseLeft(), Millis(8'000));
  BeginEpoch(kQuarantine);
  EXPECT_EQ(Prove(), kHeldAgain);
  EXPECT_EQ(Claim(), 'D');
}

INSTANTIATE_TEST_SUITE_P(Servers, RestoreScriptTest, testing::ValuesIn(InstalledServers()));

}  // namespace
}  // namespace lockkeeper::support
