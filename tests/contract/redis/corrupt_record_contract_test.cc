// SPDX-License-Identifier: Apache-2.0
//
// Records that cannot be read: every operation says so, none changes them, and the locks beside
// them notice nothing.
#include "contract/redis/redis_contract.h"
#include "support/random.h"

namespace lockkeeper::support {
namespace {

using testing::Optional;

class CorruptRecordContract : public RedisContract {
 protected:
  // What each operation answers for lock "a".
  void ExpectAll(ErrorReason reason) {
    EXPECT_THAT(ReasonOf(Ask(AcquireOf("a", Id(1)))), Optional(reason));
    EXPECT_THAT(ReasonOf(Ask(ExtendOf("a", Id(1)))), Optional(reason));
    EXPECT_THAT(ReasonOf(Ask(ReleaseOf("a", Id(1)))), Optional(reason));
    EXPECT_THAT(ReasonOf(Ask(WithdrawOf(AcquireOf("a", Id(1))))), Optional(reason));
    EXPECT_THAT(ReasonOf(Ask(FenceOf("a", core::FencingToken{1}))), Optional(reason));
    EXPECT_THAT(ReasonOf(AskGet("a")), Optional(reason));
    for (const auto delay : {core::ReleaseDelay::kNone, core::ReleaseDelay::kHoldersRemainingTtl}) {
      EXPECT_THAT(ReasonOf(Ask(core::ForceReleaseRequest{"a", delay, Deadline()})),
                  Optional(reason));
    }
  }
};

TEST_P(CorruptRecordContract, GarbageIsSaidToBeCorruptAndLeftAsItIs) {
  Grant("a", Id(9));
  const std::string valid = RecordOf("a");
  Release("a", Id(9));
  const std::string released = RecordOf("a");
  for (const std::string& garbage :
       {std::string("garbage"), std::string(" "), std::string("1"), std::string("1 "),
        std::string("0 H"), std::string("-1 H"), std::string(5'000, 'x'),
        std::string("\0\0\0\0", 4), "x" + valid, valid.substr(0, 100), valid.substr(0, 216),
        valid.substr(0, 226), released.substr(0, 8), released.substr(0, 15),
        released.substr(0, 8) + std::string(5'000, 'x'),
        released.substr(0, 15) + std::string(5'000, 'x'), released.substr(0, 31),
        "2" + valid.substr(1)}) {
    PutRecord("a", garbage);

    SCOPED_TRACE(garbage.substr(0, 20));
    ExpectAll(ErrorReason::kStoreCorrupt);
    EXPECT_EQ(RecordOf("a"), garbage);
  }
}

TEST_P(CorruptRecordContract, ValueOfAnotherTypeIsSaidToBeCorruptAndLeftAsItIs) {
  world_->Run({"HSET", KeyOf("a"), "field", "value"});

  ExpectAll(ErrorReason::kStoreCorrupt);
  EXPECT_EQ(world_->Run({"TYPE", KeyOf("a")}).text, "hash");
}

TEST_P(CorruptRecordContract, NewerFormatIsSaidToBeNewAndLeftAsItIs) {
  Grant("a", Id(9));
  for (const std::string format : {"4", "10", "99"}) {
    const std::string newer = RecordOf("a").replace(0, 1, format);
    world_->Run({"SET", KeyOf("b"), newer});
    PutRecord("a", newer);

    ExpectAll(ErrorReason::kFormatTooNew);
    EXPECT_EQ(RecordOf("a"), newer);
    PutRecord("a", RecordOf("b").replace(0, format.size(), "1"));
  }
}

TEST_P(CorruptRecordContract, RecordMayBeRepairedByRemovingIt) {
  PutRecord("a", "garbage");
  EXPECT_FALSE(Ask(AcquireOf("a", Id(1))).ok());
  world_->Run({"DEL", KeyOf("a")});

  Grant("a", Id(1));
}

TEST_P(CorruptRecordContract, NeighboursInTheSameCallAreServed) {
  PutRecord("corrupt", "garbage");
  world_->Run({"HSET", KeyOf("wrong type"), "field", "value"});
  PutRecord("newer", "4 something else");
  const std::vector<std::string> names = {"first", "corrupt", "second", "wrong type",
                                          "third", "newer",   "last"};
  std::vector<Answer<core::AcquireAnswer>> answers(names.size());
  world_->OnLoop([&] {
    for (size_t i = 0; i < names.size(); ++i) {
      world_->daemon(0).locks.Acquire(AcquireOf(names[i], Id(i)), answers[i].Into());
    }
  });

  for (size_t i = 0; i < names.size(); ++i) {
    ASSERT_TRUE(Await(answers[i]));
    EXPECT_EQ(answers[i].value().ok(), i % 2 == 0) << names[i] << answers[i].value().status();
  }
  EXPECT_THAT(ReasonOf(answers[1].value()), Optional(ErrorReason::kStoreCorrupt));
  EXPECT_THAT(ReasonOf(answers[3].value()), Optional(ErrorReason::kStoreCorrupt));
  EXPECT_THAT(ReasonOf(answers[5].value()), Optional(ErrorReason::kFormatTooNew));
}

// An answer that is nil would end the reply of the whole call there.
TEST_P(CorruptRecordContract, RecordWithAnUnknownStateFailsNoNeighbour) {
  constexpr size_t kState = 2;
  Grant("odd", Id(1));
  PutRecord("odd", RecordOf("odd").replace(kState, 1, "?"));
  Grant("good", Id(2));
  Answer<core::ReleaseAnswer> odd;
  Answer<core::ReleaseAnswer> good;

  world_->OnLoop([&] {
    world_->daemon(0).locks.Release(ReleaseOf("odd", Id(1)), odd.Into());
    world_->daemon(0).locks.Release(ReleaseOf("good", Id(2)), good.Into());
  });

  ASSERT_TRUE(Await(odd) && Await(good));
  EXPECT_THAT(ReasonOf(odd.value()), Optional(ErrorReason::kStoreCorrupt));
  ASSERT_TRUE(good.value().ok()) << good.value().status();
  EXPECT_TRUE(good.value()->released());
}

// The first has no digest to look up in the void list, the second a number that `%d` changes.
TEST_P(CorruptRecordContract, DamagedWaitersEndNoScriptLate) {
  Grant("a", Id(1));
  ASSERT_TRUE(Ask(ReleaseOf("a", Id(1))).ok());
  Grant("a", Id(2));
  constexpr size_t kLine = 6;
  std::string record = RecordOf("a");
  const std::string ended = record.substr(record.rfind(' '), 9);  // The digest of Id(1).
  PutRecord("a", record.replace(kLine, 1, "L"));
  world_->Run({"ZADD", redis::KeyLayout::LineKeyOf(KeyOf("a")), "1", "n", "2.5",
               std::string(32, '0') + ended + std::string(90, '0') + "\n"});

  EXPECT_TRUE(Ask(ReleaseOf("a", Id(2))).ok());
}

// Method: a good record with a few random bytes changed, or its end cut off, and random operations.
// Each has to be carried out or refused as corrupt; the good lock beside it is not touched.
TEST_P(CorruptRecordContract, DamagedRecordNeverDoesMoreThanBeRefused) {
  SeededRandom random;
  Grant("good", Id(5));
  for (int i = 0; i < 400; ++i) {
    world_->Run({"DEL", KeyOf("a"), KeyOf("a") + ":line"});
    Grant("a", Id(9));
    Release("a", Id(8));
    if (random.OneIn(2)) Release("a", Id(9));
    std::string record = RecordOf("a");
    for (uint64_t change = random.Below(3); change > 0; --change) {
      record[random.Below(record.size())] = static_cast<char>(random.Between(-128, 127));
    }
    if (random.OneIn(3)) record.resize(random.Below(record.size()));
    PutRecord("a", record);

    SCOPED_TRACE(record);
    for (int step = 0; step < 4; ++step) {
      absl::Status status;
      const LeaseId id = random.OneIn(2) ? Id(9) : Id(1);
      switch (random.Below(6)) {
        case 0:
          status = Ask(AcquireOf("a", id)).status();
          break;
        case 1:
          status = Ask(ExtendOf("a", id)).status();
          break;
        case 2:
          status = Ask(ReleaseOf("a", id)).status();
          break;
        case 3:
          status = Ask(WithdrawOf(AcquireOf("a", id))).status();
          break;
        case 4:
          status = Ask(FenceOf("a", core::FencingToken{1})).status();
          break;
        default:
          status = AskGet("a").status();
      }
      const auto reason = core::ReasonOf(status);
      ASSERT_TRUE(status.ok() || reason == ErrorReason::kStoreCorrupt ||
                  reason == ErrorReason::kFormatTooNew || reason == ErrorReason::kLeaseLost ||
                  reason == ErrorReason::kLeaseEnded)
          << status;
    }
  }
  EXPECT_EQ(Extend(ExtendOf("good", Id(5))).remaining_ttl, kTtl);
}

LOCKKEEPER_REDIS_SUITE(CorruptRecordContract);

}  // namespace
}  // namespace lockkeeper::support
