// SPDX-License-Identifier: Apache-2.0
//
// Holds docs/reference/limits.md against core/limits.h: the same names, the same values.
#include <array>
#include <chrono>
#include <cstdint>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "core/limits.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "redis/operation_queue.h"
#include "support/source_tree.h"

namespace lockkeeper {
namespace {

using core::Millis;
using Row = std::vector<std::string>;
namespace limits = core::limits;

template <typename Number>
std::string TextOf(Number number) {
  return std::to_string(number);
}

// A duration in its largest unit that leaves nothing over.
std::string TextOf(Millis duration) {
  using Unit = std::pair<int64_t, const char*>;
  constexpr std::array kUnits = {Unit{3'600'000, " h"}, Unit{60'000, " min"}, Unit{1'000, " s"},
                                 Unit{1, " ms"}};
  for (const auto& [millis, name] : kUnits) {
    if (duration.count() % millis == 0) return std::to_string(duration.count() / millis) + name;
  }
  return "";
}

#define LOCKKEEPER_LIMIT(name) \
  Row { #name, TextOf(limits::name) }

std::vector<Row> Limits() {
  return {LOCKKEEPER_LIMIT(kNameBytesMax),
          LOCKKEEPER_LIMIT(kOwnerBytesMax),
          LOCKKEEPER_LIMIT(kReasonBytesMax),
          LOCKKEEPER_LIMIT(kLabelsMax),
          LOCKKEEPER_LIMIT(kLabelKeyBytesMax),
          LOCKKEEPER_LIMIT(kLabelValueBytesMax),
          LOCKKEEPER_LIMIT(kAttemptMax),
          LOCKKEEPER_LIMIT(kTtlMin),
          LOCKKEEPER_LIMIT(kTtlDefault),
          LOCKKEEPER_LIMIT(kMaxTtlMin),
          LOCKKEEPER_LIMIT(kTtlCeiling),
          LOCKKEEPER_LIMIT(kTtlPrefixesMax),
          LOCKKEEPER_LIMIT(kWaitTimeoutMax),
          LOCKKEEPER_LIMIT(kLockDelayMax),
          LOCKKEEPER_LIMIT(kMaxHoldMin),
          LOCKKEEPER_LIMIT(kMaxHoldMax),
          LOCKKEEPER_LIMIT(kHoldAtLeastMax),
          LOCKKEEPER_LIMIT(kTokenMax),
          LOCKKEEPER_LIMIT(kReassertionBytesMax),
          LOCKKEEPER_LIMIT(kPageSizeDefault),
          LOCKKEEPER_LIMIT(kPageSizeMax),
          LOCKKEEPER_LIMIT(kPageTokenBytesMax),
          LOCKKEEPER_LIMIT(kRequestBytesMax),
          LOCKKEEPER_LIMIT(kOperationsOutstandingMax),
          LOCKKEEPER_LIMIT(kOperationsPerLockMax),
          LOCKKEEPER_LIMIT(kWaitersPerLockDefault),
          LOCKKEEPER_LIMIT(kWaitersPerLockMax),
          LOCKKEEPER_LIMIT(kWaitersPerPrincipalDefault),
          LOCKKEEPER_LIMIT(kWaitersPerPrincipalMax),
          LOCKKEEPER_LIMIT(kSessionBatchMax),
          LOCKKEEPER_LIMIT(kSessionOperationsMax),
          LOCKKEEPER_LIMIT(kSessionRefusalsMax),
          LOCKKEEPER_LIMIT(kSessionNotesMax),
          LOCKKEEPER_LIMIT(kLeasesPerSessionMax),
          LOCKKEEPER_LIMIT(kEndedLeasesMax),
          LOCKKEEPER_LIMIT(kToldLeasesMax),
          LOCKKEEPER_LIMIT(kConnectionsDefault),
          LOCKKEEPER_LIMIT(kConnectionsMax),
          LOCKKEEPER_LIMIT(kCallsPerConnectionMax),
          LOCKKEEPER_LIMIT(kReceiveBufferBytes),
          LOCKKEEPER_LIMIT(kSegmentBytesMax),
          LOCKKEEPER_LIMIT(kDescriptorReserve),
          LOCKKEEPER_LIMIT(kListsMax),
          LOCKKEEPER_LIMIT(kWatchesMax),
          LOCKKEEPER_LIMIT(kWatchesPerPrincipalMax),
          LOCKKEEPER_LIMIT(kWatchUnreadMax),
          LOCKKEEPER_LIMIT(kWatchedLocksMax),
          LOCKKEEPER_LIMIT(kOperationsOfSessionsMax),
          LOCKKEEPER_LIMIT(kAuditQueueDefault),
          LOCKKEEPER_LIMIT(kAuditQueueMax),
          LOCKKEEPER_LIMIT(kSpansQueuedMax),
          LOCKKEEPER_LIMIT(kWithdrawalsMax)};
}

#undef LOCKKEEPER_LIMIT

std::vector<std::string> NamesInHeader() {
  const std::string header = support::ReadSourceFile("server/core/limits.h");
  const std::regex constant(R"(inline constexpr \w+ (k\w+))");
  std::vector<std::string> names;
  for (std::sregex_iterator found(header.begin(), header.end(), constant), end; found != end;
       ++found) {
    names.push_back((*found)[1]);
  }
  return names;
}

TEST(LimitsPageTest, TableHasTheNamesAndValuesOfTheCode) {
  std::vector<Row> rows;
  const std::string section = support::SectionOf("docs/reference/limits.md", "## Fixed");
  for (const std::string& row : support::TableRowsIn(section)) {
    rows.push_back(support::CellsOf(row));
    rows.back().resize(2);  // What follows is explanation.
  }

  EXPECT_THAT(rows, testing::ElementsAreArray(Limits()));
}

TEST(LimitsPageTest, ListOfThisTestIsThatOfTheHeader) {
  std::vector<std::string> names;
  for (const Row& limit : Limits()) names.push_back(limit.front());

  EXPECT_THAT(NamesInHeader(), testing::ElementsAreArray(names));
}

TEST(LimitsPageTest, TableOfTheStoreHasTheValuesOfTheCode) {
  const std::string script = support::ReadSourceFile("server/redis/scripts/record.lua");
  std::smatch voids;
  ASSERT_TRUE(std::regex_search(script, voids, std::regex(R"(VOIDS_BYTES = \d+, \d+, (\d+))")));
  std::smatch window;
  ASSERT_TRUE(std::regex_search(script, window, std::regex(R"(RETRY_WINDOW = (\d+))")));

  std::smatch former;
  ASSERT_TRUE(
      std::regex_search(script, former, std::regex(R"(FORMER_OWNER_BYTES, \w+ = (\d+), (\d+),)")));

  std::smatch held;
  ASSERT_TRUE(std::regex_search(script, held, std::regex(R"(FORMER_HELD = (\d+))")));

  std::vector<std::string> values;
  const std::string section = support::SectionOf("docs/reference/limits.md", "## Of the store");
  for (const std::string& row : support::TableRowsIn(section)) {
    values.push_back(support::CellsOf(row).at(1));
  }

  EXPECT_THAT(values, testing::ElementsAre(voids[1], former[1], former[2], held[1], window[1],
                                           std::to_string(redis::kOperationsPerCall)));
}

}  // namespace
}  // namespace lockkeeper
