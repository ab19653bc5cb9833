// SPDX-License-Identifier: Apache-2.0
//
// What a guard does for the roll of the daemons: it enters its beats, has restored what its daemon
// had told, and ends a quarantine when all have. roll_member.h decides.
#include <algorithm>

#include "redis/format/lock_record.h"
#include "redis/guard/node_guard.h"

namespace lockkeeper::redis {

using core::Instant;
using core::Millis;
using core::NodeTime;

namespace {

// No call of a daemon on the roll is carried out later than this after its last beat. So whatever
// it has told is over when its entry is dropped.
constexpr Millis kCallsAfterBeat{10'000};

}  // namespace

Instant NodeGuard::CallsUntil() const { return last_beat_ + kCallsAfterBeat; }

// What scripts/marker.lua takes besides.
void NodeGuard::AddRoll(const StoreMarker* replacement, bool may_end_early,
                        Command& command) const {
  constexpr size_t kDigits = 10;
  constexpr size_t kTimeDigits = 16;
  const int64_t epoch = replacement == nullptr ? 0 : replacement->epoch;
  const Millis longest = replacement == nullptr ? Millis(0) : replacement->ttl_ceiling;
  const Millis kept = QuarantineOf(longest) + kCallsAfterBeat + SilentAfter(isolation_);
  const int64_t now = node_clock_.known() ? node_clock_.Earliest(clock_.Now()).micros : 0;
  command.Word(roll_->id()).Word(Digits(roll_->SeenIn(epoch), kDigits));
  command.Word(Digits(roll_->restored(), kDigits)).Word(Digits(epoch, kDigits));
  command.Word(may_end_early ? "E" : "-").Word(roll_->KnownIn(epoch));
  command.Word(Digits(std::max<int64_t>(now - core::Micros(kept).count(), 0), kTimeDigits));
  const std::string_view stays = roll_->admitted() ? "A" : "J";
  command.Word(leaves_ ? "L" : stays);
}

void NodeGuard::Leave() {
  const std::optional<Route> route = ConnectedRoute();
  if (!roll_ || leaves_ || !route || !IsConfirmed(*route)) return;
  leaves_ = true;
  RunMarkerScript(*route, known_->marker.Text(), &known_->marker, known_->beat.count,
                  Quarantine::kAsLong, [](const absl::StatusOr<Reply>&) {});
}

bool NodeGuard::IsOnRoll() const {
  if (!roll_) return true;
  // A call is not begun that would have to be carried out in a hurry.
  const Millis needed = std::min(options_.call_lifetime, kCallsAfterBeat / 2);
  return !leaves_ && roll_->admitted() && clock_.Now() < CallsUntil() - needed;
}

void NodeGuard::ReadRoll(const Reply& reply, bool wrote, NodeTime node) {
  const bool was_admitted = roll_->admitted();
  roll_->Read(ParseRoll(reply.items[2].text), wrote, node, isolation_);
  if (roll_->admitted() == was_admitted) return;
  executor_.Post([this, alive = alive_] {
    if (!*alive) return;
    UpdateTrust();
    on_change_();
  });
}

// Who has not beaten yet has told nobody anything. Who is stale restores nothing that would count.
void NodeGuard::NoteEpochOfRoll(int64_t epoch) {
  if (roll_epoch_ != epoch) {
    roll_epoch_ = epoch;
    restores_in_ = 0;
    if (last_beat_ == Instant()) {
      roll_->Restored(epoch);
    } else if (clock_.Now() - last_beat_ <= StaleAfter(isolation_)) {
      restores_in_ = epoch;
    }
  }
  BeatSoon();
}

void NodeGuard::OnRestored(int64_t epoch) {
  if (epoch != roll_epoch_) return;
  roll_->Restored(epoch);
  BeatSoon();
}

void NodeGuard::BeatSoon() {
  beat_soon_ = beating_ || checking_;
  if (beat_soon_) return;
  executor_.Post([this, alive = alive_] {
    if (*alive) Beat();
  });
}

void NodeGuard::OnBeatOfRoll(Route route, Instant sent) {
  const bool was_on_roll = IsOnRoll();
  last_beat_ = std::max(last_beat_, sent);
  if (!was_on_roll && IsOnRoll()) on_change_();
  const int64_t epoch = known_->marker.epoch;
  if (restores_in_ == epoch) {
    restores_in_ = 0;
    on_epoch_(epoch);
  }
  if (roll_->HasNewsFor(epoch)) beat_soon_ = true;
  if (roll_->AllRestored(epoch) && InQuarantine() && !checking_) {
    EndQuarantineNow(route, [](const absl::Status&) {});
  }
}

}  // namespace lockkeeper::redis
