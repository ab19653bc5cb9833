// SPDX-License-Identifier: Apache-2.0
//
// Holds docs/reference/errors.md against the table of core/errors and the delays of rpc.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/errors.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rpc/status_convert.h"
#include "support/source_tree.h"

namespace lockkeeper {
namespace {

using core::ErrorReason;
using core::Resend;
using Row = std::vector<std::string>;

std::string NameOfCode(absl::StatusCode code) {
  return std::string(absl::StatusCodeToString(code));
}

std::string TextOf(Resend resend) {
  switch (resend) {
    case Resend::kNever:
      return "no";
    case Resend::kSameLeaseId:
      return "same lease id, attempt + 1";
    case Resend::kNewLeaseId:
      return "new lease id";
    case Resend::kElsewhere:
      return "same lease id, attempt + 1, elsewhere";
    case Resend::kLater:
      return "later";
  }
  return "";
}

std::string TextOf(std::optional<core::Millis> delay) {
  if (!delay) return "";
  const int64_t millis = delay->count();
  return millis % 1'000 == 0 ? std::to_string(millis / 1'000) + " s"
                             : std::to_string(millis) + " ms";
}

TEST(ErrorsPageTest, TableHasTheRowsOfTheCode) {
  std::vector<Row> expected;
  for (int number = 1; number <= core::kErrorReasons; ++number) {
    const core::ErrorRow& row = core::RowOf(static_cast<ErrorReason>(number));
    expected.push_back({std::to_string(number), std::string(row.name), NameOfCode(row.code),
                        TextOf(row.resend), TextOf(rpc::DefaultRetryDelay(row.reason))});
  }

  std::vector<Row> rows;
  const std::string section = support::SectionOf("docs/reference/errors.md", "## Reasons");
  for (const std::string& row : support::TableRowsIn(section)) {
    rows.push_back(support::CellsOf(row));
    rows.back().resize(5);  // What follows is explanation.
  }

  EXPECT_THAT(rows, testing::ElementsAreArray(expected));
}

}  // namespace
}  // namespace lockkeeper
