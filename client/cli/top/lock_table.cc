// SPDX-License-Identifier: Apache-2.0
#include "cli/top/lock_table.h"

#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/columns.h"
#include "cli/lines.h"
#include "cli/printable.h"
#include "text/utf8.h"

namespace lockkeeper::cli {
namespace {

using admin::v1::Lock;
using std::chrono::milliseconds;

constexpr size_t kColumns = 7;
constexpr std::array<std::string_view, kColumns> kTitles = {"LOCK", "HOLDER", "STATE", "AGE",
                                                            "LEFT", "LINE",   "RATE"};
// Of the last five; the first two share what is left.
constexpr std::array<size_t, kColumns> kWidths = {0, 0, 8, 7, 7, 6, 7};
constexpr size_t kNumbers = 3;  // Columns from here on stand to the right.
constexpr size_t kRate = 6;

constexpr size_t kFilterBytesMax = 64;

constexpr std::string_view kEscape = "\x1b";
constexpr std::string_view kHelp =
    "q quit  n name  h holder  a age  l left  w line  r rate  again: reverse / filter";

// In a few characters: "12s", "5m10s", "3h20m", "12d4h".
std::string Brief(std::optional<milliseconds> time) {
  if (!time) return "-";
  const int64_t seconds = std::max<int64_t>(time->count() / 1000, 0);
  if (seconds < 60) return absl::StrCat(seconds, "s");
  if (seconds < 3600) return absl::StrCat(seconds / 60, "m", seconds % 60, "s");
  if (seconds < 86'400) return absl::StrCat(seconds / 3600, "h", seconds / 60 % 60, "m");
  return absl::StrCat(seconds / 86'400, "d", seconds / 3600 % 24, "h");
}

// "0.3/s", "41/s".
std::string PerSecond(std::optional<double> rate) {
  if (!rate) return "-";
  return *rate < 9.95 ? absl::StrFormat("%.1f/s", *rate) : absl::StrFormat("%.0f/s", *rate);
}

std::array<std::string, kColumns> CellsOf(const TableRow& row) {
  return {Printable(row.name), Printable(row.holder),
          row.state,           Brief(row.age),
          Brief(row.left),     row.waiters == 0 ? "-" : std::to_string(row.waiters),
          PerSecond(row.rate)};
}

// Exactly `width` columns; what is cut out is marked.
std::string Fit(std::string_view text, size_t width, bool to_the_right) {
  std::string cut = CutMiddle(text, width);
  const std::string space(width - ColumnsOf(cut), ' ');
  return to_the_right ? space + cut : cut + space;
}

// A column without a width is left out.
template <typename Cells>
std::string LineOf(const Cells& cells, const std::array<size_t, kColumns>& widths) {
  std::string line;
  for (size_t i = 0; i < kColumns; ++i) {
    if (widths[i] == 0) continue;
    if (i > 0) line += " ";
    line += Fit(cells[i], widths[i], i >= kNumbers);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

// The cells that the table may have cut, whole.
std::vector<std::string> DetailsOf(const TableRow& row, size_t width) {
  std::vector<std::string> lines = InLines("LOCK    " + Printable(row.name), width);
  for (std::string& line : InLines("HOLDER  " + Printable(row.holder), width)) {
    lines.push_back(std::move(line));
  }
  return lines;
}

std::array<size_t, kColumns> WidthsFor(size_t width) {
  std::array<size_t, kColumns> widths = kWidths;
  size_t fixed = kColumns - 1;
  for (const size_t each : widths) fixed += each;
  const size_t left = width > fixed ? width - fixed : 0;
  widths[0] = left / 2;
  widths[1] = left - widths[0];
  return widths;
}

// Less: further up. What is not known stands last.
bool IsLess(const TableRow& a, const TableRow& b, SortBy by) {
  constexpr milliseconds kNever = milliseconds::max();
  switch (by) {
    case SortBy::kName:
      break;
    case SortBy::kHolder:
      if (a.holder != b.holder) return a.holder < b.holder;
      break;
    case SortBy::kAge:  // The oldest first.
      if (a.age != b.age) return a.age.value_or(-kNever) > b.age.value_or(-kNever);
      break;
    case SortBy::kLeft:
      if (a.left != b.left) return a.left.value_or(kNever) < b.left.value_or(kNever);
      break;
    case SortBy::kLine:  // The longest first.
      if (a.waiters != b.waiters) return a.waiters > b.waiters;
      break;
    case SortBy::kRate:  // The highest first.
      if (a.rate != b.rate) return a.rate.value_or(-1) > b.rate.value_or(-1);
      break;
  }
  return a.name < b.name;
}

// What the store's clock showed when the lock was read. Requires: the lease is live.
int64_t ReadAtMillis(const Lock& lock) {
  using google::protobuf::util::TimeUtil;
  return TimeUtil::TimestampToMilliseconds(lock.expire_time()) -
         Millis(lock.remaining_ttl()).count();
}

std::optional<milliseconds> AgeOf(const Lock& lock) {
  using google::protobuf::util::TimeUtil;
  if (lock.state() != admin::v1::LOCK_STATE_HELD || !lock.has_acquire_time()) return std::nullopt;
  return milliseconds(ReadAtMillis(lock) - TimeUtil::TimestampToMilliseconds(lock.acquire_time()));
}

std::string HolderOf(const Lock& lock) {
  if (lock.state() == admin::v1::LOCK_STATE_ENDED) return "-";
  if (lock.principal().empty()) return lock.owner().empty() ? "-" : lock.owner();
  return lock.owner().empty() ? lock.principal() : lock.principal() + " " + lock.owner();
}

std::string StateOf(const Lock& lock) {
  const std::string state = EnumWord(admin::v1::LockState_Name(lock.state()), "LOCK_STATE_");
  if (lock.state() != admin::v1::LOCK_STATE_ENDED) return state;
  return Millis(lock.closed_for()).count() > 0 ? "closed" : "free";
}

std::optional<milliseconds> LeftOf(const Lock& lock) {
  if (lock.state() == admin::v1::LOCK_STATE_HELD) return Millis(lock.remaining_ttl());
  if (Millis(lock.closed_for()).count() > 0) return Millis(lock.closed_for());
  return std::nullopt;
}

// The first key of what was typed: an escape sequence, or a character.
std::string_view FirstKey(std::string_view keys) {
  if (!keys.starts_with("\x1b[")) return text::FirstCharacter(keys).bytes;
  size_t end = 2;
  while (end < keys.size() && (keys[end] < '@' || keys[end] > '~')) ++end;
  return keys.substr(0, end + 1);
}

}  // namespace

TableRow RowOf(const Lock& lock) {
  return {.name = lock.name(),
          .state = StateOf(lock),
          .holder = HolderOf(lock),
          .age = AgeOf(lock),
          .left = LeftOf(lock),
          .waiters = lock.waiters()};
}

void SetAge(const Lock& lock, JsonObject& json) {
  if (const auto age = AgeOf(lock)) json.Set("age_ms", age->count());
}

void LockTable::SetRows(std::vector<TableRow> rows, std::string reservations) {
  std::string followed;
  if (has_moved_ && selected_ < Shown().size()) followed = rows_[Shown()[selected_]].name;
  rows_ = std::move(rows);
  reservations_ = std::move(reservations);
  problem_.clear();
  const std::vector<size_t> shown = Shown();
  const auto found = std::find_if(shown.begin(), shown.end(),
                                  [&](size_t at) { return rows_[at].name == followed; });
  if (has_moved_ && found != shown.end()) selected_ = static_cast<size_t>(found - shown.begin());
}

std::vector<size_t> LockTable::Shown() const {
  std::vector<size_t> shown;
  for (size_t i = 0; i < rows_.size(); ++i) {
    const bool matches = rows_[i].name.find(filter_) != std::string::npos ||
                         rows_[i].holder.find(filter_) != std::string::npos;
    if (matches) shown.push_back(i);
  }
  std::sort(shown.begin(), shown.end(), [this](size_t a, size_t b) {
    return reversed_ ? IsLess(rows_[b], rows_[a], sort_) : IsLess(rows_[a], rows_[b], sort_);
  });
  return shown;
}

LockTable::Wish LockTable::Type(std::string_view keys) {
  Wish wish = Wish::kNothing;
  while (!keys.empty()) {
    const std::string_view key = FirstKey(keys);
    keys.remove_prefix(key.size());
    if (typing_filter_) {
      TypeIntoFilter(key);
      continue;
    }
    const Wish wanted = TypeKey(key);
    if (wanted == Wish::kQuit) return wanted;
    if (wanted != Wish::kNothing) wish = wanted;
  }
  return wish;
}

LockTable::Wish LockTable::TypeKey(std::string_view key) {
  if (key == "q") return Wish::kQuit;
  if (key == " ") return Wish::kRefresh;
  if (key == "n") Sort(SortBy::kName);
  if (key == "h") Sort(SortBy::kHolder);
  if (key == "a") Sort(SortBy::kAge);
  if (key == "l") Sort(SortBy::kLeft);
  if (key == "w") Sort(SortBy::kLine);
  if (key == "r") Sort(SortBy::kRate);
  if (key == "/") typing_filter_ = true;
  if (key == kEscape && !filter_.empty()) {
    filter_.clear();
    SelectFirst();
  }
  if (key == "\x1b[A" || key == "k") Move(-1);
  if (key == "\x1b[B" || key == "j") Move(1);
  if (key == "\x1b[5~") {
    first_ -= std::min(first_, page_);
    Move(-static_cast<std::ptrdiff_t>(page_));
  }
  if (key == "\x1b[6~") {
    first_ += page_;
    Move(static_cast<std::ptrdiff_t>(page_));
  }
  return Wish::kNothing;
}

void LockTable::Move(std::ptrdiff_t by) {
  const auto last = std::max<std::ptrdiff_t>(std::ssize(Shown()), 1) - 1;
  const auto next = static_cast<std::ptrdiff_t>(selected_) + by;
  selected_ = static_cast<size_t>(std::clamp<std::ptrdiff_t>(next, 0, last));
  has_moved_ = true;
}

void LockTable::SelectFirst() {
  first_ = 0;
  selected_ = 0;
  has_moved_ = false;
}

void LockTable::Scroll(size_t rows) {
  first_ = std::min(first_, rows > page_ ? rows - page_ : 0);
  first_ = std::min(first_, selected_);
  if (selected_ >= first_ + page_) first_ = selected_ - page_ + 1;
}

void LockTable::TypeIntoFilter(std::string_view key) {
  SelectFirst();
  if (key == "\r" || key == "\n") {
    typing_filter_ = false;
  } else if (key == kEscape) {
    typing_filter_ = false;
    filter_.clear();
  } else if (key == "\x7f" || key == "\b") {
    // A whole character: its bytes after the first are 10xxxxxx.
    while (!filter_.empty() && (static_cast<unsigned char>(filter_.back()) & 0xC0U) == 0x80U) {
      filter_.pop_back();
    }
    if (!filter_.empty()) filter_.pop_back();
  } else if (text::FindTextFault(key) == text::TextFault::kNone &&
             filter_.size() + key.size() <= kFilterBytesMax) {
    filter_ += key;
  }
}

void LockTable::Sort(SortBy by) {
  reversed_ = sort_ == by && !reversed_;
  sort_ = by;
  SelectFirst();
}

std::string LockTable::StatusLine(size_t shown) const {
  if (typing_filter_) return "filter: " + filter_ + "_  (Enter: done, Esc: none)";
  if (!problem_.empty()) return problem_;
  return absl::StrCat(shown, shown == rows_.size() ? "" : absl::StrCat(" of ", rows_.size()),
                      rows_.size() == 1 ? " lock" : " locks",
                      filter_.empty() ? "" : ", filter `" + filter_ + "`",
                      reservations_.empty() ? "" : "; " + reservations_,
                      rate_problem_.empty() ? "" : "; no rates: " + rate_problem_);
}

TableImage LockTable::Draw(const std::string& title, size_t width, size_t height) {
  constexpr size_t kHeadLines = 3;                // Title, status, heads.
  constexpr size_t kOtherLines = kHeadLines + 1;  // And help.
  const std::vector<size_t> shown = Shown();
  selected_ = std::min(selected_, shown.empty() ? 0 : shown.size() - 1);
  std::vector<std::string> details;
  if (!shown.empty()) details = DetailsOf(rows_[shown[selected_]], width);
  const size_t room = height > kOtherLines ? height - kOtherLines : 1;
  details.resize(std::min(details.size(), room - 1));
  page_ = room - details.size();
  Scroll(shown.size());

  const std::array<size_t, kColumns> widths = WidthsFor(width);
  TableImage image;
  std::vector<std::string>& lines = image.lines;
  lines = {title, Printable(StatusLine(shown.size())), LineOf(kTitles, widths)};
  for (size_t i = first_; i < std::min(first_ + page_, shown.size()); ++i) {
    lines.push_back(LineOf(CellsOf(rows_[shown[i]]), widths));
  }
  lines.resize(kHeadLines + page_);
  std::move(details.begin(), details.end(), std::back_inserter(lines));
  lines.emplace_back(kHelp);
  lines.resize(std::min(lines.size(), height));
  for (std::string& line : lines) line = CutEnd(line, width);
  const size_t selected = kHeadLines + selected_ - first_;
  if (!shown.empty() && selected < lines.size()) image.selected = selected;
  return image;
}

std::string LockTable::Print() const {
  const std::vector<size_t> shown = Shown();
  std::array<size_t, kColumns> widths{};
  const auto widen = [&](const auto& cells) {
    for (size_t i = 0; i < kColumns; ++i) widths[i] = std::max(widths[i], ColumnsOf(cells[i]));
  };
  widen(kTitles);
  for (const size_t at : shown) widen(CellsOf(rows_[at]));
  const bool has_rates = std::any_of(rows_.begin(), rows_.end(),
                                     [](const TableRow& row) { return row.rate.has_value(); });
  if (!has_rates) widths[kRate] = 0;
  std::string text = LineOf(kTitles, widths);
  for (const size_t at : shown) {
    absl::StrAppend(&text, "\n", LineOf(CellsOf(rows_[at]), widths));
  }
  if (!reservations_.empty()) absl::StrAppend(&text, "\n", reservations_);
  return text;
}

}  // namespace lockkeeper::cli
