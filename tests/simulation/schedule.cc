// SPDX-License-Identifier: Apache-2.0
#include "simulation/schedule.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <sstream>
#include <utility>

#include "absl/status/status.h"

namespace lockkeeper::simulation {
namespace {

constexpr std::array<std::string_view, kAllFaultKinds> kNames = {
    "daemon crash",       "daemon pause",     "daemon drain",      "store cut",
    "store slow",         "store reply lost", "messages lost",     "messages late",
    "subscription down",  "network slow",     "network lossy",     "network duplicates",
    "client death",       "client pause",     "scripts forgotten", "node restart",
    "node clock back",    "stream broken",    "stream half-open",  "stream dead",
    "reader still",       "store flushed",    "restart empty",     "restart older",
    "restart unproved",   "clock forward",    "clock far back",    "clock slewed",
    "clock nudged",       "data replaced",    "log cut",           "replicas away",
    "confirmations down", "failover",         "failover ordered"};

// Shows each field of a schedule, but its faults, with its name to `visit`.
template <typename Visited, typename Visit>
void ForFields(Visited& schedule, Visit visit) {
  visit("seed", schedule.seed);
  visit("daemons", schedule.daemons);
  visit("entrances", schedule.entrances);
  visit("balanced", schedule.balanced);
  visit("clients", schedule.clients);
  visit("session_clients", schedule.session_clients);
  visit("session_leases", schedule.session_leases);
  visit("locks", schedule.locks);
  visit("ttl", schedule.ttl);
  visit("lock_delay", schedule.lock_delay);
  visit("max_hold", schedule.max_hold);
  visit("hold_at_least", schedule.hold_at_least);
  visit("in_memory", schedule.in_memory);
  visit("scripts_loaded", schedule.scripts_loaded);
  visit("durable", schedule.durable);
  visit("guarded", schedule.guarded);
  visit("think_max", schedule.think_max);
  visit("hold_max", schedule.hold_max);
  visit("wait_max", schedule.wait_max);
  visit("cancel_one_in", schedule.cancel_one_in);
  visit("confirm_one_in", schedule.confirm_one_in);
  visit("careless_one_in", schedule.careless_one_in);
  visit("clinging_one_in", schedule.clinging_one_in);
  visit("impatient_one_in", schedule.impatient_one_in);
  visit("slow_claim_one_in", schedule.slow_claim_one_in);
  visit("hand_on_one_in", schedule.hand_on_one_in);
  visit("prove_ended_one_in", schedule.prove_ended_one_in);
  visit("assured_one_in", schedule.assured_one_in);
  visit("replicas_confirm", schedule.replicas_confirm);
  visit("ends_quarantines", schedule.ends_quarantines);
  visit("restores", schedule.restores);
  visit("faults_end", schedule.faults_end);
  visit("order_from", schedule.order_from);
  visit("order", schedule.order);
}

int Shown(bool value) { return value ? 1 : 0; }
int64_t Shown(Micros value) { return value.count(); }
int64_t Shown(core::Millis value) { return value.count(); }
std::string_view Shown(const std::string& digits) { return digits; }
template <typename Integer>
Integer Shown(Integer value) {
  return value;
}

template <typename Integer>
bool Read(std::string_view text, Integer& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}
template <typename Rep, typename Period>
bool Read(std::string_view text, std::chrono::duration<Rep, Period>& duration) {
  Rep number = 0;
  const bool read = Read(text, number);
  duration = std::chrono::duration<Rep, Period>(number);
  return read;
}
bool Read(std::string_view text, std::string& order) {
  order = text;
  return text.find_first_not_of("012") == std::string_view::npos;
}
bool Read(std::string_view text, bool& flag) {
  flag = text == "1";
  return flag || text == "0";
}

std::optional<Fault> ParseFault(std::string_view text) {
  const size_t at = text.find('@');
  const size_t duration = std::min(text.find('+', at), text.size());
  const size_t target = std::min(text.find('/', duration), text.size());
  std::string name(text.substr(0, at));
  std::replace(name.begin(), name.end(), '_', ' ');
  const auto kind = std::find(kNames.begin(), kNames.end(), name);
  if (kind == kNames.end()) return std::nullopt;
  Fault fault;
  fault.kind = static_cast<FaultKind>(kind - kNames.begin());
  const bool read = target < text.size() &&
                    Read(text.substr(at + 1, duration - at - 1), fault.at) &&
                    Read(text.substr(duration + 1, target - duration - 1), fault.duration) &&
                    Read(text.substr(target + 1), fault.target);
  return read ? std::optional(fault) : std::nullopt;
}

bool ParseField(std::string_view word, Schedule& schedule) {
  const size_t equals = std::min(word.find('='), word.size());
  bool read = false;
  ForFields(schedule, [&](std::string_view name, auto& field) {
    if (name == word.substr(0, equals)) {
      read = Read(word.substr(std::min(equals + 1, word.size())), field);
    }
  });
  return read;
}

// How much of what the primary had done a server lacks when it is promoted.
std::optional<Micros> AgeOfPromoted(const Fault& fault) {
  constexpr int64_t kMillisecond = 1'000;
  switch (fault.target % 4) {
    case 0:
      return std::nullopt;
    case 1:
      return Micros(kMillisecond + fault.duration.count() % (10 * kMillisecond));
    case 2:
      return fault.duration / 16;
    default:
      return fault.duration / 2;
  }
}

bool NeedsGuard(FaultKind kind) {
  return kind == FaultKind::kNodeClockBack || IsFailover(kind) ||
         (kind >= FaultKind::kStoreFlushed && kind <= FaultKind::kLogCut);
}

bool IsOfRedis(FaultKind kind) {
  return NeedsGuard(kind) || kind == FaultKind::kMessagesLost || kind == FaultKind::kMessagesLate ||
         kind == FaultKind::kSubscriptionDown || kind == FaultKind::kScriptsForgotten ||
         kind == FaultKind::kReplicasAway || kind == FaultKind::kConfirmationsDown;
}

}  // namespace

std::optional<Micros> AgeOfData(const Fault& fault) {
  switch (fault.kind) {
    case FaultKind::kRestartOlder:
    case FaultKind::kLogCut:
      return fault.duration / 2;
    case FaultKind::kDataReplaced:
      return fault.duration / 2 + kNoticedWithin;
    case FaultKind::kFailover:
    case FaultKind::kFailoverOrdered:
      return AgeOfPromoted(fault);
    default:
      return std::nullopt;
  }
}

bool HasFailover(const Schedule& schedule) {
  return std::ranges::any_of(schedule.faults,
                             [](const Fault& fault) { return IsFailover(fault.kind); });
}

std::string Describe(const Fault& fault) {
  return "at " + std::to_string(fault.at.count() / 1000) +
         " ms: " + std::string(kNames[static_cast<size_t>(fault.kind)]) + ", " +
         std::to_string(fault.duration.count() / 1000) + " ms, target " +
         std::to_string(fault.target);
}

std::string WriteSchedule(const Schedule& schedule) {
  std::ostringstream text;
  const char* space = "";
  ForFields(schedule, [&](std::string_view name, const auto& field) {
    text << std::exchange(space, " ") << name << "=" << Shown(field);
  });
  for (const Fault& fault : schedule.faults) {
    std::string name(kNames[static_cast<size_t>(fault.kind)]);
    std::replace(name.begin(), name.end(), ' ', '_');
    text << " " << name << "@" << fault.at.count() << "+" << fault.duration.count() << "/"
         << fault.target;
  }
  return text.str();
}

absl::StatusOr<Schedule> ParseSchedule(const std::string& text) {
  Schedule schedule;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (word.find('@') == std::string::npos) {
      if (!ParseField(word, schedule)) return absl::InvalidArgumentError(word);
    } else if (const auto fault = ParseFault(word)) {
      schedule.faults.push_back(*fault);
    } else {
      return absl::InvalidArgumentError(word);
    }
  }
  return schedule;
}

void PutInMemory(Schedule& schedule) {
  schedule.in_memory = true;
  schedule.guarded = false;
  schedule.clinging_one_in = 0;  // There are no proofs.
  schedule.prove_ended_one_in = 0;
  schedule.ends_quarantines = false;
  schedule.restores = false;
  schedule.assured_one_in = 0;  // It has no replicas.
  schedule.replicas_confirm = false;
  std::erase_if(schedule.faults, [](const Fault& fault) { return IsOfRedis(fault.kind); });
}

void Normalize(Schedule& schedule) {
  std::stable_sort(schedule.faults.begin(), schedule.faults.end(),
                   [](const Fault& a, const Fault& b) { return a.at < b.at; });
  for (const Fault& fault : schedule.faults) {
    schedule.guarded = schedule.guarded || NeedsGuard(fault.kind);
    if (fault.kind == FaultKind::kRestartOlder || fault.kind == FaultKind::kRestartUnproved) {
      schedule.durable = false;
    }
  }
}

}  // namespace lockkeeper::simulation
