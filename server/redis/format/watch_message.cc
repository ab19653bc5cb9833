// SPDX-License-Identifier: Apache-2.0
#include "redis/format/watch_message.h"

#include <charconv>
#include <concepts>
#include <cstdint>

#include "absl/strings/str_cat.h"

namespace lockkeeper::redis {
namespace {

using core::EventBatch;
using core::LockEvent;
using core::WatchFilter;
using core::WatchInterest;

constexpr char kInterestLetter = 'W';
constexpr char kBatchLetter = 'E';
constexpr char kNameLetter = 'N';
constexpr char kPrefixLetter = 'P';
constexpr size_t kDaemonIdDigits = 16;

void AddText(std::string& to, std::string_view text) {
  absl::StrAppend(&to, text.size(), ":", absl::string_view(text.data(), text.size()), " ");
}

// Reads a message from its front. After the first failure everything fails.
class MessageReader {
 public:
  explicit MessageReader(std::string_view message) : rest_(message) {}

  bool ok() const { return ok_; }
  bool AtEnd() const { return rest_.empty(); }

  bool Letter(char letter) {
    if (!ok_ || rest_.empty() || rest_.front() != letter) return ok_ = false;
    rest_.remove_prefix(1);
    return true;
  }

  char AnyLetter() {
    if (!ok_ || rest_.empty()) return ok_ = false, '\0';
    const char letter = rest_.front();
    rest_.remove_prefix(1);
    return letter;
  }

  template <std::integral T>
  T Number(char after = ' ') {
    T number{};
    if (!ok_) return number;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), number);
    ok_ = error == std::errc();
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    Letter(after);
    return number;
  }

  std::string Bytes(size_t count) {
    if (!ok_ || rest_.size() < count) return ok_ = false, "";
    std::string bytes(rest_.substr(0, count));
    rest_.remove_prefix(count);
    Letter(' ');
    return bytes;
  }

  std::string Text() {
    const auto size = Number<size_t>(':');
    return Bytes(size);
  }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

void AddEvent(std::string& to, const LockEvent& event) {
  absl::StrAppend(&to, static_cast<int>(event.kind), " ", event.token.value, " ",
                  event.remaining.count(), " ", event.waited.count(), " ", event.position, " ",
                  event.previous_lease_expired ? 1 : 0, " ", event.lease, " ");
  AddText(to, event.name);
  AddText(to, event.owner);
  AddText(to, event.principal);
}

LockEvent ReadEvent(MessageReader& from) {
  LockEvent event;
  event.kind = static_cast<core::LockEventKind>(from.Number<int>());
  event.token.value = from.Number<int64_t>();
  event.remaining = core::Micros(from.Number<int64_t>());
  event.waited = core::Micros(from.Number<int64_t>());
  event.position = from.Number<int32_t>();
  event.previous_lease_expired = from.Number<int>() != 0;
  event.lease = from.Number<uint64_t>();
  event.name = from.Text();
  event.owner = from.Text();
  event.principal = from.Text();
  return event;
}

// A daemon of a later version may tell what this one does not know.
bool IsKnown(const LockEvent& event) {
  return event.kind >= core::LockEventKind::kGranted && event.kind <= core::LockEventKind::kLeft;
}

}  // namespace

std::string WriteInterest(const WatchInterest& interest) {
  std::string message = absl::StrCat(std::string(1, kInterestLetter), interest.daemon_id, " ",
                                     interest.version, " ", interest.filters.size(), " ");
  for (const WatchFilter& filter : interest.filters) {
    message += filter.match == WatchFilter::Match::kName ? kNameLetter : kPrefixLetter;
    AddText(message, filter.text);
  }
  return message;
}

std::optional<WatchInterest> ReadInterest(std::string_view message) {
  MessageReader from(message);
  if (!from.Letter(kInterestLetter)) return std::nullopt;
  WatchInterest interest{.daemon_id = from.Bytes(kDaemonIdDigits)};
  interest.version = from.Number<uint64_t>();
  const auto count = from.Number<size_t>();
  for (size_t i = 0; i < count && from.ok(); ++i) {
    const char letter = from.AnyLetter();
    if (letter != kNameLetter && letter != kPrefixLetter) return std::nullopt;
    interest.filters.push_back(
        {letter == kNameLetter ? WatchFilter::Match::kName : WatchFilter::Match::kPrefix,
         from.Text()});
  }
  return from.ok() && from.AtEnd() ? std::optional(std::move(interest)) : std::nullopt;
}

std::string WriteBatch(const EventBatch& batch) {
  std::string message = absl::StrCat(std::string(1, kBatchLetter), batch.daemon_id, " ",
                                     batch.version, " ", batch.stream, " ", batch.first, " ",
                                     batch.last ? 1 : 0, " ", batch.events.size(), " ");
  for (const LockEvent& event : batch.events) AddEvent(message, event);
  return message;
}

std::optional<EventBatch> ReadBatch(std::string_view message) {
  MessageReader from(message);
  if (!from.Letter(kBatchLetter)) return std::nullopt;
  EventBatch batch{.daemon_id = from.Bytes(kDaemonIdDigits)};
  batch.version = from.Number<uint64_t>();
  batch.stream = from.Number<uint64_t>();
  batch.first = from.Number<uint64_t>();
  batch.last = from.Number<int>() != 0;
  const auto count = from.Number<size_t>();
  for (size_t i = 0; i < count && from.ok(); ++i) batch.events.push_back(ReadEvent(from));
  if (!from.ok() || !from.AtEnd()) return std::nullopt;
  for (const LockEvent& event : batch.events) {
    if (!IsKnown(event)) return std::nullopt;
  }
  return batch;
}

}  // namespace lockkeeper::redis
