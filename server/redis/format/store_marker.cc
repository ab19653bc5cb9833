// SPDX-License-Identifier: Apache-2.0
#include "redis/format/store_marker.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "redis/format/lock_record.h"
#include "redis/format/marker_columns.h"

namespace lockkeeper::redis {
namespace {

constexpr std::string_view kFormat = "1";
constexpr size_t kOffsetDigits = marker_column::kClockOffset.width() - 1;  // Behind its sign.
// As scripts/marker.lua writes it: " <count> <time>".
constexpr size_t kBeatLength = marker_column::kBeatTime.last - marker_column::kClockOffset.last;

bool IsHexDigit(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

// Reads columns of a marker, and remembers whether one of them was malformed.
class ColumnReader {
 public:
  // Malformed unless the text ends with the last column.
  explicit ColumnReader(std::string_view text)
      : text_(text), ok_(text.size() == marker_column::kBeatTime.last) {}

  // The column, which a space or the end of the text must follow.
  std::string_view Text(Column column) {
    if (ok_ && column.last < text_.size() && text_[column.last] != ' ') ok_ = false;
    return ok_ ? column.Of(text_) : "";
  }

  std::string Hex(Column column) {
    const std::string_view text = Text(column);
    if (!std::all_of(text.begin(), text.end(), IsHexDigit)) ok_ = false;
    return std::string(text);
  }

  int64_t Number(Column column) { return NumberIn(Text(column)); }

  // A number with its sign.
  int64_t SignedNumber(Column column) {
    const std::string_view text = Text(column);
    const bool is_negative = text.starts_with('-');
    if (!is_negative && !text.starts_with('+')) ok_ = false;
    const int64_t number = NumberIn(text.substr(std::min<size_t>(1, text.size())));
    return is_negative ? -number : number;
  }

  void Refuse() { ok_ = false; }
  bool ok() const { return ok_; }

 private:
  int64_t NumberIn(std::string_view text) {
    int64_t number = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
    if (read.ec != std::errc() || read.ptr != text.data() + text.size() || number < 0) ok_ = false;
    return number;
  }

  const std::string_view text_;
  bool ok_;
};

}  // namespace

std::string StoreMarker::Stamp() const {
  std::string text(kFormat);
  text.append(" ").append(service_id);
  text.append(" ").append(Digits(epoch, marker_column::kEpoch.width()));
  text.append(" ").append(run_id);
  text.append(" ").append(Digits(ttl_ceiling.count(), marker_column::kTtlCeiling.width()));
  text.append(" ").append(Digits(quarantine_end.micros, marker_column::kQuarantineEnd.width()));
  text.append(durable ? " D" : " -");
  return text;
}

std::string StoreMarker::Text() const {
  return Stamp() + " " + home + " " + reassertion_key + " " +
         Digits(token_floor.value, marker_column::kTokenFloor.width()) +
         (clock_offset < core::Micros(0) ? " -" : " +") +
         Digits(std::abs(clock_offset.count()), kOffsetDigits);
}

std::optional<SeenMarker> ParseMarker(std::string_view text) {
  SeenMarker seen;
  StoreMarker& marker = seen.marker;
  ColumnReader read(text);
  if (read.Text(marker_column::kFormat) != kFormat) return std::nullopt;
  marker.service_id = read.Hex(marker_column::kService);
  marker.epoch = read.Number(marker_column::kEpoch);
  marker.run_id = read.Hex(marker_column::kRunId);
  marker.ttl_ceiling = core::Millis(read.Number(marker_column::kTtlCeiling));
  marker.quarantine_end.micros = read.Number(marker_column::kQuarantineEnd);
  const std::string_view durable = read.Text(marker_column::kDurability);
  if (durable != "D" && durable != "-") read.Refuse();
  marker.durable = durable == "D";
  marker.home = read.Hex(marker_column::kHome);
  marker.reassertion_key = read.Hex(marker_column::kReassertionKey);
  marker.token_floor.value = read.Number(marker_column::kTokenFloor);
  marker.clock_offset = core::Micros(read.SignedNumber(marker_column::kClockOffset));
  seen.beat.count = read.Number(marker_column::kBeat);
  seen.beat.at.micros = read.Number(marker_column::kBeatTime);
  if (!read.ok()) return std::nullopt;
  return seen;
}

std::string_view WithoutBeat(std::string_view text) {
  return text.substr(0, text.size() - std::min(text.size(), kBeatLength));
}

}  // namespace lockkeeper::redis
