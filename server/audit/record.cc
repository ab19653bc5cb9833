// SPDX-License-Identifier: Apache-2.0
#include "audit/record.h"

#include <array>
#include <charconv>

#include "absl/time/time.h"
#include "core/limits.h"
#include "text/escape.h"

namespace lockkeeper::audit {
namespace {

// Of any other text than names, owners and principals, which have limits of their own.
constexpr size_t kTextBytesMax = 1024;

// The name is a literal and needs no escapes.
void AppendName(std::string_view name, std::string& out) {
  out += ",\"";
  out += name;
  out += "\":";
}

void AppendNumber(int64_t number, std::string& out) {
  std::array<char, 24> buffer;
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number);
  out.append(buffer.data(), result.ptr);
}

void AddText(std::string_view name, std::string_view text, std::string& out,
             size_t bytes_max = kTextBytesMax) {
  if (text.empty()) return;
  AppendName(name, out);
  text::AppendJsonString(text::CutAtCharacter(text, bytes_max), out);
}

void AddNumber(std::string_view name, int64_t number, std::string& out) {
  if (number == 0) return;
  AppendName(name, out);
  AppendNumber(number, out);
}

void AddDetail(const Detail& detail, std::string& out) {
  AppendName(detail.first, out);
  if (const auto* text = std::get_if<std::string_view>(&detail.second)) {
    text::AppendJsonString(text::CutAtCharacter(*text, kTextBytesMax), out);
  } else if (const auto* number = std::get_if<int64_t>(&detail.second)) {
    AppendNumber(*number, out);
  } else {
    out += std::get<bool>(detail.second) ? "true" : "false";
  }
}

}  // namespace

Origin::Origin(std::string_view principal, std::string_view peer, std::string_view request_id) {
  AddText("principal", principal, json_);
  AddText("peer", peer, json_);
  AddText("request_id", request_id, json_);
}

void RecordWriter::AppendTime(std::chrono::system_clock::time_point time, std::string& out) {
  constexpr int64_t kMillisOfSecond = 1'000;
  const int64_t millis =
      std::chrono::floor<std::chrono::milliseconds>(time.time_since_epoch()).count();
  if (millis / kMillisOfSecond != second_) {
    second_ = millis / kMillisOfSecond;
    second_text_ = absl::FormatTime("%Y-%m-%d%ET%H:%M:%S", absl::FromUnixSeconds(second_),
                                    absl::UTCTimeZone());
  }
  const int64_t rest = millis % kMillisOfSecond;
  out += second_text_;
  out += '.';
  for (const int64_t unit : {100, 10, 1}) out += static_cast<char>('0' + rest / unit % 10);
  out += 'Z';
}

void RecordWriter::Append(const Record& record, std::string& out) {
  out += "{\"time\":\"";
  AppendTime(record.time, out);
  out += "\",\"verb\":\"";
  out += record.verb;
  out += "\",\"outcome\":\"";
  out += NameOf(record.outcome);
  out += '"';
  AddText("lock", record.lock, out, core::limits::kNameBytesMax);
  AddNumber("fencing_token", record.token.value, out);
  if (record.origin) out += record.origin->json();
  AddText("owner", record.owner, out, core::limits::kOwnerBytesMax);
  AddNumber("ttl_ms", record.ttl.count(), out);
  AddNumber("waited_ms", std::chrono::ceil<core::Millis>(record.waited).count(), out);
  AddText("reason", record.reason, out);
  for (const Detail& detail : record.details) AddDetail(detail, out);
  out += "}\n";
}

}  // namespace lockkeeper::audit
