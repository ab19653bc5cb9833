// SPDX-License-Identifier: Apache-2.0
#include "redis/format/lock_record.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <vector>

#include "core/errors.h"
#include "core/limits.h"
#include "core/lock_event.h"
#include "redis/format/record_columns.h"
#include "text/utf8.h"

namespace lockkeeper::redis {
namespace {

using core::LeaseEnd;
using core::LockState;
using core::Micros;
using core::Millis;
using core::NodeTime;

constexpr size_t kHeaderLength = column::kClaim.last;
constexpr size_t kHoldDigits = 8;

// Reads numbers from columns and remembers whether one of them was none.
class NumberReader {
 public:
  explicit NumberReader(std::string_view record) : record_(record) {}

  int64_t operator()(Column column) {
    const std::string_view text = column.Of(record_);
    int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool is_whole = error == std::errc() && end == text.data() + text.size();
    if (!is_whole || number < 0 || text.starts_with('-')) failed_ = true;
    return number;
  }

  bool failed() const { return failed_; }

 private:
  std::string_view record_;
  bool failed_ = false;
};

// 0 unless `text` is a number.
int64_t ReadDigits(std::string_view text) {
  int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return std::max<int64_t>(number, 0);
}

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

core::Labels DecodeLabels(std::string_view line) {
  core::Labels labels;
  for (const std::string_view label : Split(line, '\t')) {
    const size_t equals = std::min(label.find('='), label.size());
    labels.emplace_back(label.substr(0, equals), label.substr(std::min(equals + 1, label.size())));
  }
  return labels;
}

absl::Status Corrupt(std::string_view name) {
  return core::Error(core::ErrorReason::kStoreCorrupt,
                     "the record of lock '" + std::string(name) + "' cannot be read");
}

// The end of a lease as the letter of a former holder says it.
LeaseEnd EndOf(char letter) {
  if (letter == 'X') return LeaseEnd::kExpired;
  return letter == 'F' ? LeaseEnd::kForced : LeaseEnd::kReleased;
}

// The beginning of an owner text as the record keeps it, without a character that was cut.
std::string DecodeOwner(std::string_view kept) {
  std::string owner(kept);
  for (char& character : owner) {
    if (character == '\t') character = ' ';
    if (character == '\v') character = ':';
  }
  while (!text::IsUtf8(owner)) owner.pop_back();
  return owner;
}

// One former holder. `newest` is the token of the record: of its own lease a record keeps it once.
std::optional<core::FormerLease> ReadFormer(std::string_view entry, core::FencingToken newest) {
  core::FormerLease former{.token = newest, .owner = {}, .end = LeaseEnd::kReleased, .ended = {}};
  if (entry.starts_with('R') || entry.starts_with('X') || entry.starts_with('F')) {
    former.end = EndOf(entry.front());
    former.token.value = ReadDigits(entry.substr(1, column::kToken.width()));
    entry.remove_prefix(std::min(1 + column::kToken.width(), entry.size()));
  }
  int64_t millis = 0;
  const auto [end, error] = std::from_chars(entry.data(), entry.data() + entry.size(), millis);
  constexpr int64_t kMillisMax = core::limits::kTokenMax / 1000;  // A damaged record may have more.
  const bool is_time = error == std::errc() && -kMillisMax <= millis && millis <= kMillisMax;
  if (!is_time || end == entry.data() + entry.size() || *end != ';') return std::nullopt;
  former.ended.micros = former.token.value + Micros(Millis(millis)).count();
  former.owner = DecodeOwner(entry.substr(static_cast<size_t>(end - entry.data()) + 1));
  return former;
}

// What `rest`, the record behind its text, says of the holders before. A version that does not know
// of them puts what it voids behind them: then they are a part of the void list.
std::vector<core::FormerLease> ReadHistory(std::string_view rest, core::FencingToken newest) {
  const size_t last_void = rest.rfind(' ');
  const size_t begin = rest.find('\n', last_void == std::string_view::npos ? 0 : last_void);
  if (begin == std::string_view::npos) return {};
  std::vector<core::FormerLease> history;
  for (const std::string_view entry : Split(rest.substr(begin + 1), '\n')) {
    if (auto former = ReadFormer(entry, newest)) history.push_back(*std::move(former));
  }
  std::reverse(history.begin(), history.end());
  return history;
}

// A record of format 2: of a lock whose last lease was released or withdrawn, or of which none is
// known.
absl::StatusOr<std::optional<core::LockInfo>> ReadShortRecord(std::string_view name,
                                                              std::string_view record) {
  if (record.size() <= column::kToken.last) return Corrupt(name);
  core::LockInfo info;
  switch (column::kState.Of(record).front()) {
    case 'N':
      return std::nullopt;
    case 'R':
      info.last_end = LeaseEnd::kReleased;
      break;
    case 'W':
      info.last_end = LeaseEnd::kWithdrawn;
      break;
    default:
      return Corrupt(name);
  }
  NumberReader number(record);
  info.name = name;
  info.state = LockState::kEnded;
  info.token.value = number(column::kToken);
  info.waiters = static_cast<int32_t>(number(column::kWaiters));
  if (number.failed()) return Corrupt(name);
  info.history = ReadHistory(record.substr(column::kToken.last), info.token);
  return info;
}

// State and end of the lease by the state column. Nothing for an unknown one.
std::optional<std::pair<LockState, LeaseEnd>> ReadState(char column, bool live) {
  switch (column) {
    case 'H':
      return live ? std::pair(LockState::kHeld, LeaseEnd::kNone)
                  : std::pair(LockState::kEnded, LeaseEnd::kExpired);
    case 'O':
      return std::pair(LockState::kOffered, LeaseEnd::kNone);
    case 'F':
      return std::pair(LockState::kEnded, LeaseEnd::kForced);
    case 'R':
      return std::pair(LockState::kEnded, LeaseEnd::kReleased);
    default:
      return std::nullopt;
  }
}

}  // namespace

std::string Digits(int64_t value, size_t width) {
  std::array<char, std::numeric_limits<int64_t>::digits10 + 2> buffer;
  const auto written = std::to_chars(buffer.begin(), buffer.end(), value);
  const std::string_view digits(buffer.data(), written.ptr);
  std::string padded;
  padded.reserve(std::max(width, digits.size()));
  return padded.append(width - std::min(width, digits.size()), '0').append(digits);
}

std::string EncodeLeaseId(const core::LeaseId& id) {
  // One bit that differs among the digits changes every bit of the digest with a chance of a half:
  // ids that a client counts, or makes of a clock and an address, have digests as different as
  // others.
  constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;
  constexpr size_t kWordBytes = sizeof(uint64_t);
  uint64_t mixed = 0;
  for (size_t at = 0; at < core::HexId::kLength; at += kWordBytes) {
    uint64_t word = 0;
    for (size_t i = 0; i < kWordBytes; ++i) {
      word |= uint64_t{static_cast<unsigned char>(id.digits()[at + i])} << (8 * i);
    }
    mixed = (mixed ^ word) * kOdd;
    mixed ^= mixed >> 32;
  }
  mixed *= kOdd;

  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  constexpr size_t kBitsPerDigit = 6;
  std::string encoded;
  encoded.reserve(core::HexId::kLength + 1 + column::kDigest.width());
  encoded.append(id.digits()).append(" ");
  for (size_t i = 1; i <= column::kDigest.width(); ++i) {
    encoded.push_back(kDigits[(mixed >> (64 - i * kBitsPerDigit)) % kDigits.size()]);
  }
  return encoded;
}

std::string EncodeText(const core::AcquireRequest& request) {
  std::string text;
  text.reserve(request.principal.size() + request.owner.size() + 3);
  text.append(request.principal).append("\n").append(request.owner).append("\n");
  for (const auto& [key, value] : request.labels) {
    if (&key != &request.labels.front().first) text.append("\t");
    text.append(key).append("=").append(value);
  }
  return text.append("\n");
}

namespace {

// The column claim: of `letters`, for a claim by the daemon, and by the client with no assurance
// asked, with DISK, and with more.
std::string_view ClaimOf(const core::AcquireRequest& request, std::string_view letters) {
  if (request.claim == core::ClaimMode::kByDaemon) return letters.substr(0, 1);
  if (request.min_assurance > core::Assurance::kDisk) return letters.substr(3, 1);
  return letters.substr(request.min_assurance == core::Assurance::kDisk ? 2 : 1, 1);
}

}  // namespace

std::string EncodeRequest(const core::AcquireRequest& request, size_t text_bytes) {
  const bool has_hold = request.hold_at_least > Millis(0);
  if (has_hold) text_bytes += kHoldDigits + 1;
  std::string columns;
  columns.reserve(kHeaderLength);
  columns.append(EncodeLeaseId(request.lease_id))
      .append(" ")
      .append(Digits(request.attempt, column::kAttempt.width()));
  columns.append(" ").append(request.keeper.digits());
  columns.append(" ").append(Digits(request.ttl.count(), column::kTtl.width()));
  columns.append(" ").append(Digits(request.lock_delay.count(), column::kLockDelay.width()));
  columns.append(" ").append(Digits(request.max_hold.count(), column::kMaxHold.width()));
  columns.append(" ").append(Digits(static_cast<int64_t>(text_bytes), column::kTextBytes.width()));
  columns.append(" ").append(ClaimOf(request, has_hold ? "dckr" : "DCKR"));
  if (!has_hold) return columns;
  return columns.append(" ").append(Digits(request.hold_at_least.count(), kHoldDigits));
}

absl::StatusOr<std::optional<core::LockInfo>> ReadRecord(std::string_view name,
                                                         std::string_view record, NodeTime now,
                                                         Doubt doubt) {
  if (record.starts_with("2 ")) return ReadShortRecord(name, record);
  if (record.size() <= kHeaderLength || record[kHeaderLength] != '\n') return Corrupt(name);
  NumberReader number(record);
  core::LockInfo info;
  info.name = name;
  info.token.value = number(column::kToken);
  info.lease_end.micros = number(column::kLeaseEnd);
  info.acquired.micros = number(column::kAcquired);
  info.ttl = Millis(number(column::kTtl));
  info.lock_delay = Millis(number(column::kLockDelay));
  info.max_hold = Millis(number(column::kMaxHold));
  info.waiters = static_cast<int32_t>(number(column::kWaiters));
  const int64_t closed_until = number(column::kClosedUntil);
  const auto text_bytes = static_cast<size_t>(number(column::kTextBytes));
  const bool live = info.lease_end > now && doubt == Doubt::kNone;
  const auto state = ReadState(column::kState.Of(record).front(), live);
  if (number.failed() || !state || record.size() < kHeaderLength + 1 + text_bytes) {
    return Corrupt(name);
  }
  std::tie(info.state, info.last_end) = *state;
  if (doubt == Doubt::kNone) {
    info.closed_for = Micros(std::max<int64_t>(closed_until - now.micros, 0));
    if (info.state != LockState::kEnded) {
      info.remaining_ttl = Micros(std::max<int64_t>(info.lease_end.micros - now.micros, 0));
    }
  } else if (info.last_end != LeaseEnd::kForced && info.last_end != LeaseEnd::kReleased) {
    const bool may_come_back = doubt == Doubt::kMayBeProved;
    info.state = may_come_back ? LockState::kUnproven : LockState::kEnded;
    if (may_come_back) info.last_end = LeaseEnd::kNone;
  }
  if (const auto id = core::LeaseId::Parse(column::kLeaseId.Of(record))) {
    info.lease = core::LeaseNumber(*id);
  }
  const auto lines = Split(record.substr(kHeaderLength + 1, text_bytes), '\n');
  if (!lines.empty()) info.principal = lines[0];
  if (lines.size() > 1) info.owner = lines[1];
  if (lines.size() > 2) info.labels = DecodeLabels(lines[2]);
  if (lines.size() > 3) info.hold_at_least = Millis(ReadDigits(lines[3]));
  info.history = ReadHistory(record.substr(kHeaderLength + 1 + text_bytes), info.token);
  if (info.state == LockState::kEnded) {
    info.history.insert(info.history.begin(),
                        {info.token, info.owner, info.last_end, info.lease_end});
  }
  return info;
}

}  // namespace lockkeeper::redis
