// SPDX-License-Identifier: Apache-2.0
//
// The table of `top`: which locks it shows, in which order, and how it looks. Knows neither the
// terminal nor the service.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/arguments.h"
#include "cli/json.h"
#include "lockkeeper/admin/v1/admin_service.pb.h"

namespace lockkeeper::cli {

// Its texts are as the daemon told them: the table escapes them when it shows them.
struct TableRow {
  std::string name;
  std::string state;   // "held", "closed", ...
  std::string holder;  // Owner and principal.
  // Since the lease was granted, by the store's clock. Nothing if no lease is live.
  std::optional<std::chrono::milliseconds> age;
  // Until the lock can be granted again if nobody does anything. Nothing if that is not known.
  std::optional<std::chrono::milliseconds> left;
  int64_t waiters = 0;
  // Grants per second. Nothing if that is not known.
  std::optional<double> rate;
};
TableRow RowOf(const admin::v1::Lock& lock);

// Adds the age of the lock to what SetLock() tells of it, if it is known.
void SetAge(const admin::v1::Lock& lock, JsonObject& json);

struct TableImage {
  std::vector<std::string> lines;
  std::optional<size_t> selected;  // The number of the line of the selected lock.
};

// One of the locks is selected, at first the topmost. Thread-safety: thread-compatible.
class LockTable {
 public:
  // What a key asks for besides another look of the table.
  enum class Wish { kNothing, kRefresh, kQuit };

  LockTable(SortBy sort, std::string filter) : sort_(sort), filter_(std::move(filter)) {}

  // `reservations`: what the listing lacks, for people; empty if nothing.
  void SetRows(std::vector<TableRow> rows, std::string reservations);

  // Why there are no newer rows. Empty: there are.
  void SetProblem(std::string problem) { problem_ = std::move(problem); }

  // Why rows have no rates. Empty: they have, or will have soon.
  void SetRateProblem(std::string problem) { rate_problem_ = std::move(problem); }

  // What was typed. An escape sequence has to be whole.
  Wish Type(std::string_view keys);

  // At most `height` lines of at most `width` columns. `title` stands first. Names and holders may
  // be cut; those of the selected lock stand whole at the foot, if there is room.
  TableImage Draw(const std::string& title, size_t width, size_t height);

  // All rows, each column as wide as its longest text, for programs that read lines.
  std::string Print() const;

  // The numbers of the rows that are shown, in their order.
  std::vector<size_t> Shown() const;

 private:
  Wish TypeKey(std::string_view key);
  void TypeIntoFilter(std::string_view key);
  void Sort(SortBy by);
  // Selects another lock, so many further down; above if below 0.
  void Move(std::ptrdiff_t by);
  void SelectFirst();
  // Brings the selected one of so many rows onto the page.
  void Scroll(size_t rows);
  std::string StatusLine(size_t shown) const;

  SortBy sort_;
  bool reversed_ = false;
  std::string filter_;  // Part of the name or holder of the rows that are shown.
  bool typing_filter_ = false;
  size_t first_ = 0;        // Row at the top of the screen.
  size_t page_ = 1;         // Rows on the screen that was drawn last.
  size_t selected_ = 0;     // Row.
  bool has_moved_ = false;  // The selection: it stays with its lock when there are new rows.
  std::vector<TableRow> rows_;
  std::string reservations_;
  std::string problem_;
  std::string rate_problem_;
};

}  // namespace lockkeeper::cli
