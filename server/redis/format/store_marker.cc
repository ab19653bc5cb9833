// SPDX-License-Identifier: Apache-2.0
#include "redis/format/store_marker.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "redis/format/lock_record.h"

namespace lockkeeper::redis {
namespace {

constexpr std::string_view kFormat = "1";
constexpr size_t kIdDigits = 16;
constexpr size_t kEpochDigits = 10;
constexpr size_t kRunIdDigits = 40;
constexpr size_t kMillisDigits = 8;
constexpr size_t kNumberDigits = 16;
constexpr size_t kKeyDigits = 32;
// As scripts/marker.lua writes it: " <count> <time>".
constexpr size_t kBeatLength = 2 * (1 + kNumberDigits);

bool IsHexDigit(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

// Takes columns off the front of a text, each of a fixed width and followed by a space or the end.
class Columns {
 public:
  explicit Columns(std::string_view text) : left_(text) {}

  std::string_view Next(size_t width) {
    if (left_.size() < width || (left_.size() > width && left_[width] != ' ')) ok_ = false;
    if (!ok_) return "";
    const std::string_view column = left_.substr(0, width);
    left_.remove_prefix(std::min(width + 1, left_.size()));
    return column;
  }

  std::string Hex(size_t width) {
    const std::string_view column = Next(width);
    if (!std::all_of(column.begin(), column.end(), IsHexDigit)) ok_ = false;
    return std::string(column);
  }

  int64_t Number(size_t width) {
    const std::string_view column = Next(width);
    int64_t number = 0;
    const auto read = std::from_chars(column.data(), column.data() + column.size(), number);
    if (read.ec != std::errc() || read.ptr != column.data() + column.size() || number < 0) {
      ok_ = false;
    }
    return number;
  }

  void Refuse() { ok_ = false; }
  bool ok() const { return ok_ && left_.empty(); }

 private:
  std::string_view left_;
  bool ok_ = true;
};

}  // namespace

std::string StoreMarker::Stamp() const {
  std::string text(kFormat);
  text.append(" ").append(service_id);
  text.append(" ").append(Digits(epoch, kEpochDigits));
  text.append(" ").append(run_id);
  text.append(" ").append(Digits(ttl_ceiling.count(), kMillisDigits));
  text.append(" ").append(Digits(quarantine_end.micros, kNumberDigits));
  text.append(durable ? " D" : " -");
  return text;
}

std::string StoreMarker::Text() const {
  return Stamp() + " " + home + " " + reassertion_key + " " +
         Digits(token_floor.value, kNumberDigits) + (clock_offset < core::Micros(0) ? " -" : " +") +
         Digits(std::abs(clock_offset.count()), kNumberDigits);
}

std::optional<SeenMarker> ParseMarker(std::string_view text) {
  SeenMarker seen;
  StoreMarker& marker = seen.marker;
  Columns columns(text);
  if (columns.Next(kFormat.size()) != kFormat) return std::nullopt;
  marker.service_id = columns.Hex(kIdDigits);
  marker.epoch = columns.Number(kEpochDigits);
  marker.run_id = columns.Hex(kRunIdDigits);
  marker.ttl_ceiling = core::Millis(columns.Number(kMillisDigits));
  marker.quarantine_end.micros = columns.Number(kNumberDigits);
  const std::string_view durable = columns.Next(1);
  if (durable != "D" && durable != "-") columns.Refuse();
  marker.durable = durable == "D";
  marker.home = columns.Hex(kIdDigits);
  marker.reassertion_key = columns.Hex(kKeyDigits);
  marker.token_floor.value = columns.Number(kNumberDigits);
  const std::string_view offset = columns.Next(1 + kNumberDigits);
  const bool is_ahead = offset.starts_with('+');
  if (!is_ahead && !offset.starts_with('-')) columns.Refuse();
  Columns digits(offset.substr(std::min<size_t>(1, offset.size())));
  const int64_t micros = digits.Number(kNumberDigits);
  if (!digits.ok()) columns.Refuse();
  marker.clock_offset = core::Micros(is_ahead ? micros : -micros);
  seen.beat.count = columns.Number(kNumberDigits);
  seen.beat.at.micros = columns.Number(kNumberDigits);
  if (!columns.ok()) return std::nullopt;
  return seen;
}

std::string_view WithoutBeat(std::string_view text) {
  return text.substr(0, text.size() - std::min(text.size(), kBeatLength));
}

}  // namespace lockkeeper::redis
