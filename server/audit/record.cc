// SPDX-License-Identifier: Apache-2.0
#include "audit/record.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "absl/time/time.h"
#include "core/limits.h"
#include "text/escape.h"

namespace lockkeeper::audit {
namespace {

// Of any other text than names, owners and principals, which have limits of their own.
constexpr size_t kTextBytesMax = 1024;

constexpr size_t kNumberBytesMax = 24;
constexpr size_t kNameBytesMax = 32;     // Of a field, with what is around it.
constexpr size_t kEscapeBytesMax = 6;    // Of one byte: "\\u0001".
constexpr size_t kFixedBytesMax = 1024;  // Of a line without its texts and details.

constexpr size_t RoomForText(size_t bytes_max) {
  return kNameBytesMax + bytes_max * kEscapeBytesMax;
}
constexpr size_t kOriginBytesMax = 3 * RoomForText(kTextBytesMax);

// Where the next part of a line goes, in room that was made for all of them: a line has dozens of
// short parts, and std::string looks for room for each.
class Cursor {
 public:
  explicit Cursor(char* begin) : begin_(begin), at_(begin) {}

  std::string_view text() const { return {begin_, static_cast<size_t>(at_ - begin_)}; }

  void Add(std::string_view text) {
    std::memcpy(at_, text.data(), text.size());
    at_ += text.size();
  }
  void Add(int64_t number) { at_ = std::to_chars(at_, at_ + kNumberBytesMax, number).ptr; }
  void AddDigit(int64_t digit) { *at_++ = static_cast<char>('0' + digit); }

  // The name is a literal and needs no escapes.
  void AddName(std::string_view name) {
    Add(",\"");
    Add(name);
    Add("\":");
  }

  void AddQuoted(std::string_view text, size_t bytes_max = kTextBytesMax) {
    text = text::CutAtCharacter(text, bytes_max);
    if (text::IsPlain(text)) {
      Add("\"");
      Add(text);
      Add("\"");
    } else {
      std::string escaped;
      text::AppendJsonString(text, escaped);
      Add(escaped);
    }
  }

  // Fields without a value are left out.
  void AddText(std::string_view name, std::string_view text, size_t bytes_max = kTextBytesMax) {
    if (text.empty()) return;
    AddName(name);
    AddQuoted(text, bytes_max);
  }
  void AddNumber(std::string_view name, int64_t number) {
    if (number == 0) return;
    AddName(name);
    Add(number);
  }

  void AddDetail(const Detail& detail) {
    AddName(detail.first);
    if (const auto* text = std::get_if<std::string_view>(&detail.second)) {
      AddQuoted(*text);
    } else if (const auto* number = std::get_if<int64_t>(&detail.second)) {
      Add(*number);
    } else {
      Add(std::get<bool>(detail.second) ? std::string_view("true") : std::string_view("false"));
    }
  }

 private:
  char* const begin_;
  char* at_;
};

size_t RoomFor(const Record& record) {
  return kFixedBytesMax + RoomForText(core::limits::kNameBytesMax) +
         RoomForText(core::limits::kOwnerBytesMax) + kOriginBytesMax +
         (1 + record.details.size()) * RoomForText(kTextBytesMax);
}

}  // namespace

Origin::Origin(std::string_view principal, std::string_view peer, std::string_view request_id) {
  std::array<char, kOriginBytesMax> room;
  Cursor json(room.data());
  json.AddText("principal", principal);
  json.AddText("peer", peer);
  json.AddText("request_id", request_id);
  json_ = json.text();
}

std::string_view RecordWriter::SecondOf(std::chrono::sys_seconds time) {
  if (time != second_) {
    second_ = time;
    second_text_ =
        absl::FormatTime("%Y-%m-%d%ET%H:%M:%S", absl::FromChrono(time), absl::UTCTimeZone());
  }
  return second_text_;
}

void RecordWriter::Append(const Record& record, std::string& out) {
  room_.resize(std::max(room_.size(), RoomFor(record)));
  Cursor line(room_.data());
  const auto second = std::chrono::floor<std::chrono::seconds>(record.time);
  const int64_t millis = std::chrono::floor<core::Millis>(record.time - second).count();
  line.Add("{\"time\":\"");
  line.Add(SecondOf(second));
  line.Add(".");
  for (const int64_t unit : {100, 10, 1}) line.AddDigit(millis / unit % 10);
  line.Add("Z\",\"verb\":\"");
  line.Add(record.verb);
  line.Add("\",\"outcome\":\"");
  line.Add(NameOf(record.outcome));
  line.Add("\"");
  line.AddText("lock", record.lock, core::limits::kNameBytesMax);
  line.AddNumber("fencing_token", record.token.value);
  if (record.origin) line.Add(record.origin->json());
  line.AddText("owner", record.owner, core::limits::kOwnerBytesMax);
  line.AddNumber("ttl_ms", record.ttl.count());
  line.AddNumber("waited_ms", std::chrono::ceil<core::Millis>(record.waited).count());
  line.AddText("reason", record.reason);
  for (const Detail& detail : record.details) line.AddDetail(detail);
  line.Add("}\n");
  out += line.text();
}

}  // namespace lockkeeper::audit
