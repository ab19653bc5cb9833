// SPDX-License-Identifier: Apache-2.0
//
// The lock record: what goes in comes out, whatever the bytes; nothing is kept for ever; what
// cannot be read is said to be so and touches nobody else.
#include <algorithm>

#include "contract/redis/redis_contract.h"
#include "core/limits.h"
#include "support/random.h"

namespace lockkeeper::support {
namespace {

using core::LockInfo;
using core::LockState;
using core::NotReleasedReason;
using testing::Optional;

// Texts that are legal and that some layer might take for something else.
const std::vector<std::string>& OddTexts() {
  static const std::vector<std::string> kTexts = {"*",
                                                  "a*[b]?",
                                                  "\\",
                                                  "a\\*",
                                                  "^",
                                                  "-",
                                                  "[",
                                                  "]",
                                                  "%d%s",
                                                  "%",
                                                  "$1",
                                                  "#",
                                                  "a b",
                                                  " a ",
                                                  "'a'",
                                                  "\"",
                                                  "--",
                                                  "]]",
                                                  "a]]..'",
                                                  "return redis.call('FLUSHALL')",
                                                  "lk:a",
                                                  ":line",
                                                  "a:line",
                                                  "00",
                                                  "1 H - - ",
                                                  "\xC3\xA9",
                                                  "\xF0\x9F\x94\x92",
                                                  "\xE4\xBD\xA0\xE5\xA5\xBD",
                                                  "\xD8\xB3\xD9\x84\xD8\xA7\xD9\x85",
                                                  "e\xCC\x81",
                                                  "=",
                                                  "a=b",
                                                  "a==",
                                                  "\xEF\xBF\xBD",
                                                  "/",
                                                  ".."};
  return kTexts;
}

class RecordContract : public RedisContract {
 protected:
  bool Exists(const std::string& name) { return world_->Run({"EXISTS", KeyOf(name)}).integer == 1; }
};

TEST_P(RecordContract, NamesAreTakenLiterally) {
  std::vector<core::Lease> leases;
  for (const std::string& name : OddTexts()) leases.push_back(Grant(name, Id(leases.size())));

  for (size_t i = 0; i < leases.size(); ++i) {
    const std::string& name = OddTexts()[i];
    EXPECT_EQ(Extend(ExtendOf(name, Id(i))).token, leases[i].token) << name;
    EXPECT_EQ(Get(name).name, name);
    Contend(name, Id(1000));
    EXPECT_EQ(Release(name, Id(i)), NotReleasedReason::kNone) << name;
  }
  EXPECT_EQ(KeyCount(), static_cast<int64_t>(OddTexts().size()));
}

TEST_P(RecordContract, OwnerPrincipalAndLabelsComeBackAsTheyWere) {
  for (const std::string& text : OddTexts()) {
    core::AcquireRequest request = AcquireOf(text, Id(1));
    request.owner = text;
    request.principal = text;
    request.labels = {{"key", text}, {"empty", ""}};
    if (text.find('=') == std::string::npos) request.labels.emplace_back(text, text);
    Grant(request);

    const LockInfo info = Get(text);
    EXPECT_EQ(info.owner, text);
    EXPECT_EQ(info.principal, text);
    EXPECT_EQ(info.labels, request.labels) << text;
    EXPECT_EQ(Contend(text, Id(2)).holder_owner, text);
  }
}

TEST_P(RecordContract, EmptyTextsComeBackEmpty) {
  core::AcquireRequest request = AcquireOf("a", Id(1));
  request.owner = "";
  Grant(request);

  EXPECT_EQ(Get("a").owner, "");
  EXPECT_EQ(Get("a").principal, "");
  EXPECT_TRUE(Get("a").labels.empty());
  EXPECT_EQ(Contend("a", Id(2)).holder_owner, "");
}

TEST_P(RecordContract, HeldLockIsDescribed) {
  core::AcquireRequest request = AcquireOf("a", Id(1));
  request.lock_delay = Millis(5'000);
  const core::Lease lease = Grant(request);
  const core::NodeTime acquired = NodeNow();
  StepBy(Millis(1'000));

  const LockInfo info = Get("a");
  EXPECT_EQ(info.state, LockState::kHeld);
  EXPECT_EQ(info.token, lease.token);
  EXPECT_EQ(info.owner, request.owner);
  EXPECT_EQ(info.ttl, kTtl);
  EXPECT_EQ(info.remaining_ttl, kTtl - Millis(1'000));
  EXPECT_EQ(info.closed_for, kTtl + Millis(4'000));
  EXPECT_EQ(info.acquired, acquired);
  EXPECT_EQ(info.lease, core::LeaseNumber(Id(1)));
  EXPECT_EQ(info.lease_end, lease.lease_end);
  EXPECT_EQ(info.waiters, 0);
  EXPECT_EQ(info.last_end, core::LeaseEnd::kNone);
}

TEST_P(RecordContract, EndedLockTellsHowItsLeaseEnded) {
  const core::AcquireRequest request = AcquireOf("a", Id(1));
  Grant(request);
  Withdraw(request);
  EXPECT_EQ(Get("a").last_end, core::LeaseEnd::kWithdrawn);
  Grant("a", Id(2));
  Release("a", Id(2));
  EXPECT_EQ(Get("a").last_end, core::LeaseEnd::kReleased);
  EXPECT_EQ(Get("a").state, LockState::kEnded);
  EXPECT_EQ(Get("a").remaining_ttl, Micros(0));
  Grant("a", Id(3));
  StepBy(kTtl);
  EXPECT_EQ(Get("a").last_end, core::LeaseEnd::kExpired);
  EXPECT_EQ(Get("a").state, LockState::kEnded);
}

TEST_P(RecordContract, UnknownLockIsNotThere) {
  const auto info = AskGet("a");
  ASSERT_TRUE(info.ok());
  EXPECT_FALSE(*info);

  Release("a", Id(1));
  EXPECT_FALSE(*AskGet("a")) << "void lease ids alone are no lock";
}

TEST_P(RecordContract, RecordOfALeaseIsKeptForTheRetentionAfterItsEnd) {
  Grant("a", Id(1));

  StepBy(kTtl + kRetention - Millis(1));
  EXPECT_TRUE(Exists("a"));
  StepBy(Millis(2));
  EXPECT_FALSE(Exists("a"));
  EXPECT_EQ(KeyCount(), 0);
}

TEST_P(RecordContract, RecordIsKeptForTheRetentionAfterTheLockDelay) {
  core::AcquireRequest request = AcquireOf("a", Id(1));
  request.lock_delay = Millis(5'000);
  Grant(request);

  StepBy(kTtl + Millis(5'000) + kRetention - Millis(1));
  EXPECT_TRUE(Exists("a"));
  StepBy(Millis(2));
  EXPECT_FALSE(Exists("a"));
}

TEST_P(RecordContract, RecordIsKeptForTheRetentionAfterARelease) {
  Grant("a", Id(1));
  StepBy(Millis(1'000));
  Release("a", Id(1));

  StepBy(kRetention - Millis(1));
  EXPECT_TRUE(Exists("a"));
  EXPECT_EQ(Release("a", Id(1)), NotReleasedReason::kNone);
  StepBy(Millis(2));
  EXPECT_FALSE(Exists("a"));
}

// Redis keeps a value of up to 44 bytes in one piece with its object.
TEST_P(RecordContract, WhatALockLeavesBehindIsShort) {
  constexpr size_t kInOnePiece = 44;
  core::AcquireRequest request = AcquireOf("a", Id(1));
  request.owner = std::string(core::limits::kOwnerBytesMax, 'o');
  request.lock_delay = Millis(5'000);
  Grant(request);
  const core::FencingToken token = Get("a").token;
  Release("a", Id(1));

  EXPECT_LE(RecordOf("a").size(), kInOnePiece);
  EXPECT_EQ(Get("a").token, token);
  EXPECT_EQ(Get("a").owner, "");
  EXPECT_EQ(Fence(FenceOf("a", token)).verdict, core::Verdict::kAdmitted);
  EXPECT_GT(Grant("a", Id(2)).token, token);

  Release("unknown", Id(3));
  EXPECT_LE(RecordOf("unknown").size(), kInOnePiece);
}

TEST_P(RecordContract, EveryKindOfRecordGoesAway) {
  Release("void", Id(1));
  const core::AcquireRequest withdrawn = AcquireOf("withdrawn", Id(2));
  Withdraw(withdrawn);
  Grant("forced", Id(3));
  ForceRelease("forced");
  Grant("extended", Id(4));
  Extend(ExtendOf("extended", Id(4)));
  EXPECT_EQ(KeyCount(), 4);

  StepBy(kTtl + kRetention + Millis(1));
  for (const std::string name : {"void", "withdrawn", "forced", "extended"}) {
    EXPECT_FALSE(Exists(name)) << name;
  }
  EXPECT_EQ(KeyCount(), 0);
}

TEST_P(RecordContract, VoidListIsBoundedAndForgetsTheOldestFirst) {
  constexpr uint64_t kLast = 200;
  constexpr uint64_t kKept = 5;
  Grant("a", Id(0));
  const size_t empty = RecordOf("a").size();
  for (uint64_t i = 1; i <= kLast; ++i) {
    Release("a", Id(i));
    ASSERT_LE(RecordOf("a").size(), empty + 2 * 72) << i;
  }

  Release("a", Id(0));
  for (uint64_t i = kLast - kKept + 1; i <= kLast; ++i) {
    EXPECT_THAT(ReasonOf(Ask(AcquireOf("a", Id(i)))), Optional(ErrorReason::kLeaseEnded)) << i;
  }
  Grant("a", Id(1));
}

// What is known of a withdrawn one takes more room: there are fewer of them.
TEST_P(RecordContract, VoidListOfWithdrawalsIsBoundedAndForgetsTheOldestFirst) {
  constexpr uint64_t kLast = 60;
  constexpr uint64_t kKept = 4;
  Grant("a", Id(0));
  const size_t empty = RecordOf("a").size();
  for (uint64_t i = 1; i <= kLast; ++i) {
    Withdraw(AcquireOf("a", Id(i)));
    ASSERT_LE(RecordOf("a").size(), empty + 2 * 78) << i;
  }

  Withdraw(AcquireOf("a", Id(0)));
  for (uint64_t i = kLast - kKept + 1; i <= kLast; ++i) {
    EXPECT_THAT(ReasonOf(Ask(AcquireOf("a", Id(i)))), Optional(ErrorReason::kLeaseEnded)) << i;
  }
  Grant("a", Id(1));
}

// Entries of both lengths follow each other in every order.
TEST_P(RecordContract, NewestVoidLeaseIdsAreKnownWhateverMadeThemVoid) {
  constexpr uint64_t kLast = 200;
  constexpr uint64_t kKept = 4;
  Random random(1);
  Grant("a", Id(0));
  for (uint64_t i = 1; i <= kLast; ++i) {
    if (random.OneIn(2)) {
      Release("a", Id(i));
    } else {
      Withdraw(AcquireOf("a", Id(i)));
    }
  }
  Release("a", Id(0));
  for (uint64_t i = kLast - kKept + 1; i <= kLast; ++i) {
    EXPECT_THAT(ReasonOf(Ask(AcquireOf("a", Id(i)))), Optional(ErrorReason::kLeaseEnded)) << i;
  }
}

// Lease ids of a client that counts, or UUIDs made of a clock and a machine's address, have most
// digits in common.
TEST_P(RecordContract, LeaseIdsThatDifferInAnyDigitAreDifferent) {
  constexpr uint64_t kHigh = 0x1122334455667788;
  constexpr uint64_t kLow = 0x99aabbccddeeff00;
  const LeaseId base = LeaseId::FromBits(kHigh, kLow);
  for (int bit = 0; bit < 128; bit += 4) {
    const std::string name = "lock " + std::to_string(bit);
    const uint64_t flipped = uint64_t{1} << (bit % 64);
    const LeaseId other = bit < 64 ? LeaseId::FromBits(kHigh, kLow ^ flipped)
                                   : LeaseId::FromBits(kHigh ^ flipped, kLow);
    Grant(name, base);
    Release(name, base);
    Grant(name, Id(1));
    Release(name, Id(1));

    EXPECT_EQ(Grant(name, other).lease_id, other) << "bit " << bit;
  }
}

LOCKKEEPER_REDIS_SUITE(RecordContract);

}  // namespace
}  // namespace lockkeeper::support
