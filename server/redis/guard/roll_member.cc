// SPDX-License-Identifier: Apache-2.0
#include "redis/guard/roll_member.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace lockkeeper::redis {
namespace {

using core::Micros;
using core::Millis;
using core::NodeTime;

// The Sentinels need a few seconds for a failover, besides the time after which they take a server
// for down, and a daemon asks them once a second.
constexpr Millis kFailoverTakes{7'000};
constexpr Millis kMargin{3'000};
// Beats of a living daemon are a second apart.
constexpr Millis kBeatMissing{3'000};

bool IsSilent(const RollEntry& entry, NodeTime now, Millis since) {
  return now.micros - entry.beat.micros > Micros(since).count();
}

}  // namespace

Millis StaleAfter(Millis isolation) { return isolation + kFailoverTakes; }

Millis SilentAfter(Millis isolation) { return StaleAfter(isolation) + isolation + kMargin; }

void RollMember::Read(DaemonRoll roll, bool wrote, NodeTime now, Millis isolation) {
  roll_ = std::move(roll);
  const RollEntry* const own = roll_.Find(id_);
  if (own == nullptr || own->joined != joined_) admitted_ = false;
  if (own == nullptr) return;
  joined_ = own->joined;
  admitted_ = admitted_ || IsKnownToOthers(*own, now, isolation);
  if (!wrote) return;
  known_.clear();
  for (const RollEntry& entry : roll_.entries) {
    if (entry.state != RollEntry::State::kLeft) known_.insert(entry.id);
  }
  known_in_ = roll_.epoch;
  known_version_ = roll_.version;
}

// One other that is active is enough: whoever restores has to be on the roll or known to one that
// is, and tells whom it knows. A single one that is silent for a moment cannot end a quarantine
// early, since that takes two that were on the roll.
bool RollMember::IsKnownToOthers(const RollEntry& own, NodeTime now, Millis isolation) const {
  size_t others = 0;
  size_t missing = 0;
  size_t silent = 0;
  for (const RollEntry& entry : roll_.entries) {
    if (entry.id == id_ || entry.state != RollEntry::State::kActive) continue;
    if (entry.seen >= own.joined) return true;
    ++others;
    if (IsSilent(entry, now, kBeatMissing)) ++missing;
    if (IsSilent(entry, now, SilentAfter(isolation))) ++silent;
  }
  return others == silent || (others == 1 && missing == 1);
}

bool RollMember::AllRestored(int64_t epoch) const {
  return admitted_ && roll_.epoch == epoch && roll_.may_end_early && known_in_ == epoch &&
         std::ranges::all_of(roll_.entries,
                             [epoch](const RollEntry& entry) { return entry.restored == epoch; });
}

// Only with the first beats of an epoch: later ones would bring back who was dropped.
std::string RollMember::KnownIn(int64_t epoch) const {
  std::string ids;
  if (known_in_ == epoch) return ids;
  for (const std::string& id : known_) ids += id;
  return ids;
}

bool RollMember::HasNewsFor(int64_t epoch) const {
  const RollEntry* const own = roll_.Find(id_);
  return roll_.epoch == epoch && own != nullptr && own->seen < SeenIn(epoch);
}

}  // namespace lockkeeper::redis
