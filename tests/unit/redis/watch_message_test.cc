// SPDX-License-Identifier: Apache-2.0
#include "redis/format/watch_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace lockkeeper::redis {
namespace {

using core::EventBatch;
using core::LockEvent;
using core::LockEventKind;
using core::WatchFilter;
using core::WatchInterest;

constexpr char kId[] = "0123456789abcdef";

EventBatch Batch() {
  return {.daemon_id = kId,
          .version = 3,
          .stream = 4,
          .first = 5,
          .last = true,
          .events = {{.kind = LockEventKind::kGranted,
                      .name = "orders/1 2:3",
                      .token = {1'234'567'890'123'456},
                      .owner = "web-1 \xc3\xa4 7",
                      .principal = "spiffe://a/b",
                      .remaining = core::Micros(29'999'000),
                      .waited = core::Micros(12),
                      .position = 2,
                      .previous_lease_expired = true,
                      .lease = 18'446'744'073'709'551'615U},
                     {.kind = LockEventKind::kLeft, .name = "b"}}};
}

TEST(WatchMessageTest, ABatchIsReadAsItWasWritten) {
  const auto read = ReadBatch(WriteBatch(Batch()));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->daemon_id, kId);
  EXPECT_EQ(read->version, 3U);
  EXPECT_EQ(read->stream, 4U);
  EXPECT_EQ(read->first, 5U);
  EXPECT_TRUE(read->last);
  ASSERT_EQ(read->events.size(), 2U);
  const LockEvent& event = read->events[0];
  const LockEvent written = Batch().events[0];
  EXPECT_EQ(event.kind, written.kind);
  EXPECT_EQ(event.name, written.name);
  EXPECT_EQ(event.token, written.token);
  EXPECT_EQ(event.owner, written.owner);
  EXPECT_EQ(event.principal, written.principal);
  EXPECT_EQ(event.remaining, written.remaining);
  EXPECT_EQ(event.waited, written.waited);
  EXPECT_EQ(event.position, written.position);
  EXPECT_TRUE(event.previous_lease_expired);
  EXPECT_EQ(event.lease, written.lease);
  EXPECT_EQ(read->events[1].kind, LockEventKind::kLeft);
}

TEST(WatchMessageTest, AnInterestIsReadAsItWasWritten) {
  const WatchInterest written{
      .daemon_id = kId,
      .version = 7,
      .filters = {
          {.text = ""}, {.text = "a b"}, {.match = WatchFilter::Match::kName, .text = "N1:x"}}};
  const auto read = ReadInterest(WriteInterest(written));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->daemon_id, kId);
  EXPECT_EQ(read->version, 7U);
  EXPECT_EQ(read->filters, written.filters);
}

TEST(WatchMessageTest, OneIsNotTakenForTheOther) {
  EXPECT_FALSE(ReadInterest(WriteBatch(Batch())).has_value());
  EXPECT_FALSE(ReadBatch(WriteInterest({.daemon_id = kId})).has_value());
}

// Whoever may publish may send anything.
TEST(WatchMessageTest, DamagedMessagesAreIgnored) {
  const std::string batch = WriteBatch(Batch());
  for (size_t size = 0; size < batch.size(); ++size) {
    EXPECT_FALSE(ReadBatch(batch.substr(0, size)).has_value()) << size;
  }
  EXPECT_FALSE(ReadBatch(batch + "x").has_value());
  const std::string head = "E" + std::string(kId) + " 1 1 0 0 ";
  EXPECT_TRUE(ReadBatch(head + "0 ").has_value());
  EXPECT_FALSE(ReadBatch(head + "99999999999999999999 ").has_value());
  EXPECT_FALSE(ReadBatch(head + "18446744073709551615 ").has_value());
  EXPECT_FALSE(ReadBatch(head + "1 3 1 0 0 0 0 0 18446744073709551615:a 0: 0: ").has_value());
  EXPECT_FALSE(ReadBatch(head + "1 3 1 0 0 0 0 0 -1:a 0: 0: ").has_value());
  EXPECT_TRUE(ReadBatch(head + "1 3 1 0 0 0 0 0 1:a 0: 0: ").has_value());
  EXPECT_FALSE(ReadBatch(head + "1 99 1 0 0 0 0 0 1:a 0: 0: ").has_value()) << "unknown kind";
  EXPECT_FALSE(ReadInterest("W" + std::string(kId) + " 1 1 X1:a ").has_value());
}

}  // namespace
}  // namespace lockkeeper::redis
