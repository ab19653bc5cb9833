// SPDX-License-Identifier: Apache-2.0
// What backup-check finds in a store, and beside a file of before. Method: a store that is well, in
// which each test spoils one thing.
#include "cli/backup_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockkeeper::cli {
namespace {

using Severity = Finding::Severity;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int64_t kNow = 1'800'000'000;
constexpr int64_t kToken = kNow * 1'000'000;

admin::v1::GetServerInfoResponse InfoAt(int64_t seconds) {
  admin::v1::GetServerInfoResponse info;
  info.mutable_current_time()->set_seconds(seconds);
  info.mutable_record_retention()->set_seconds(60);
  admin::v1::StoreInfo& store = *info.mutable_store();
  store.set_kind("redis");
  store.set_address("127.0.0.1:6379");
  store.set_reachable(true);
  store.set_epoch(2);
  store.set_assurance(v1::ASSURANCE_DISK);
  store.mutable_latency()->set_nanos(300'000);
  store.mutable_clock_ahead();
  store.mutable_settings()->insert({"store.key_prefix", "lk:"});
  return info;
}

class BackupCheckTest : public testing::Test {
 protected:
  BackupCheckTest() {
    Add("held", kToken, admin::v1::LOCK_STATE_HELD);
    Add("a name with spaces", kToken + 1, admin::v1::LOCK_STATE_ENDED);
    listing_.locks[0].mutable_remaining_ttl()->set_seconds(12);
    since_ = NoteOf(info_, listing_);
    // Some time has passed since.
    info_ = InfoAt(kNow + 20);
  }

  void Add(const std::string& name, int64_t token, admin::v1::LockState state) {
    admin::v1::Lock& lock = listing_.locks.emplace_back();
    lock.set_name(name);
    lock.set_fencing_token(token);
    lock.set_state(state);
  }

  admin::v1::StoreInfo& store() { return *info_.mutable_store(); }

  std::vector<Finding> Found() { return JudgeBackup(info_, listing_, since_, "127.0.0.1:7600"); }

  // What is worse than a note.
  std::vector<Finding> Wrong() {
    std::vector<Finding> findings = Found();
    std::erase_if(findings, [](const Finding& each) { return each.severity < Severity::kWarning; });
    return findings;
  }

  // The only wrong thing.
  void ExpectOne(Severity severity, const std::string& check, const std::string& part) {
    const std::vector<Finding> wrong = Wrong();
    ASSERT_EQ(wrong.size(), 1U) << "of " << check;
    EXPECT_EQ(wrong[0].severity, severity) << wrong[0].text;
    EXPECT_EQ(wrong[0].check, check);
    EXPECT_THAT(wrong[0].text, HasSubstr(part));
  }

  // What `check` says, of the severity that it has.
  std::string TextOf(Severity severity, const std::string& check) {
    for (const Finding& each : Found()) {
      if (each.check == check && each.severity == severity) return each.text;
    }
    return "";
  }

  admin::v1::GetServerInfoResponse info_ = InfoAt(kNow);
  Listing listing_;
  std::optional<StoreNote> since_;
};

TEST_F(BackupCheckTest, FindsNothingWrongWithAStoreThatIsWell) {
  EXPECT_THAT(Wrong(), IsEmpty());
  EXPECT_THAT(TextOf(Severity::kOk, "leases"),
              AllOf(HasSubstr("1 lease is live"), HasSubstr("12s")));
  EXPECT_THAT(TextOf(Severity::kOk, "file"), AllOf(HasSubstr("2 records"), HasSubstr("20s ago")));
  EXPECT_THAT(TextOf(Severity::kOk, "epoch"), HasSubstr("still 2"));
  EXPECT_THAT(TextOf(Severity::kOk, "records"), HasSubstr("nothing of the file is missing"));
}

TEST_F(BackupCheckTest, WithoutAFileItTellsOfTheStoreAlone) {
  since_.reset();
  listing_.locks.clear();
  EXPECT_THAT(Wrong(), IsEmpty());
  EXPECT_THAT(TextOf(Severity::kOk, "leases"), HasSubstr("no lease is live"));
  EXPECT_EQ(TextOf(Severity::kOk, "records"), "");
}

TEST_F(BackupCheckTest, StoreThatKeepsNothingIsAWarning) {
  store().set_assurance(v1::ASSURANCE_MEMORY);
  ExpectOne(Severity::kWarning, "durable", "appendfsync always");
}

TEST_F(BackupCheckTest, RecordsThatCannotBeReadAreAnError) {
  listing_.unreadable = 3;
  ExpectOne(Severity::kError, "records", "3 records cannot be read");
}

TEST_F(BackupCheckTest, LowerTokenIsOlderDataThatNobodyHasNoticed) {
  listing_.locks[0].set_fencing_token(kToken - 1);
  ExpectOne(Severity::kError, "records", "1 lock, such as `held`: older than in the file");
}

TEST_F(BackupCheckTest, RecordThatIsGoneBeforeItsTimeWasLost) {
  listing_.locks.pop_back();
  ExpectOne(Severity::kError, "records", "1 lock, such as `a name with spaces`: gone before");
}

TEST_F(BackupCheckTest, RecordThatIsGoneAfterItsTimeIsNoLoss) {
  info_ = InfoAt(kNow + 60);
  listing_.locks.clear();
  EXPECT_THAT(Wrong(), IsEmpty());
  EXPECT_THAT(TextOf(Severity::kOk, "records"), HasSubstr("2 are gone after their time"));
}

TEST_F(BackupCheckTest, LossThatTheDaemonsHaveNoticedIsANote) {
  listing_.locks.clear();
  store().set_epoch(3);
  store().set_last_loss("older_data");
  EXPECT_THAT(Wrong(), IsEmpty());
  EXPECT_THAT(TextOf(Severity::kNote, "epoch"), HasSubstr("it was 2 and is 3"));
  EXPECT_THAT(TextOf(Severity::kNote, "epoch"), HasSubstr("older_data"));
  EXPECT_THAT(TextOf(Severity::kNote, "records"), HasSubstr("the daemons have noticed it"));
}

TEST_F(BackupCheckTest, QuarantineIsAWarning) {
  store().set_epoch(3);
  store().mutable_quarantine_left()->set_seconds(5);
  ExpectOne(Severity::kWarning, "quarantine", "for another 5s");
}

TEST_F(BackupCheckTest, LowerEpochIsAnError) {
  store().set_epoch(1);
  ExpectOne(Severity::kError, "epoch", "it was 2 and is 1");
}

TEST_F(BackupCheckTest, ClockOfTheStoreThatWentBackIsAnError) {
  info_ = InfoAt(kNow - 5);
  ExpectOne(Severity::kError, "time", "5s behind what it was");
}

TEST_F(BackupCheckTest, StoresClockIsLookedAtByItself) {
  // The daemon's clock has gone on, and the store's has not.
  store().mutable_clock_ahead()->set_seconds(-25);
  const std::vector<Finding> wrong = Wrong();
  ASSERT_EQ(wrong.size(), 2U);
  EXPECT_EQ(wrong[0].check, "store_clock");
  EXPECT_EQ(wrong[1].check, "time");
}

TEST_F(BackupCheckTest, FileOfOtherLocksIsAnError) {
  since_->key_prefix = "test:";
  ExpectOne(Severity::kError, "file", "test:");
}

TEST_F(BackupCheckTest, FileTellsAllThatWasNoted) {
  const auto read = ParseNote(ToText(*since_));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->epoch, 2);
  EXPECT_EQ(read->time, absl::FromUnixSeconds(kNow));
  EXPECT_EQ(read->key_prefix, "lk:");
  EXPECT_EQ(read->tokens, since_->tokens);
  EXPECT_EQ(read->tokens.at("a name with spaces"), kToken + 1);
}

TEST_F(BackupCheckTest, FileWithoutLocksIsAFile) {
  const auto read = ParseNote(ToText({.epoch = 1, .time = absl::FromUnixSeconds(kNow)}));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_THAT(read->tokens, IsEmpty());
}

TEST_F(BackupCheckTest, PartOfAFileAndOtherFilesAreRejected) {
  const std::string text = ToText(*since_);
  for (size_t length = 0; length < text.size(); ++length) {
    EXPECT_FALSE(ParseNote(text.substr(0, length)).ok()) << length;
  }
  EXPECT_FALSE(ParseNote("lockkeeper backup-check 2\n" + text.substr(text.find('\n') + 1)).ok());
  std::string other = text;
  other.replace(other.find("lock "), 5, "lack ");
  EXPECT_FALSE(ParseNote(other).ok());
}

}  // namespace
}  // namespace lockkeeper::cli
