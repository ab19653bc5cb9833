// SPDX-License-Identifier: Apache-2.0
//
// Prevents grants by a store that may have forgotten leases. Keeps the marker in the store, gives
// each script call the marker and the clock that it must find, and holds calls back while these are
// not known. loss_judge.h decides what was lost; docs/concepts/when_redis_forgets.md explains.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/clock.h"
#include "core/executor.h"
#include "core/requests.h"
#include "redis/format/key_layout.h"
#include "redis/format/store_marker.h"
#include "redis/guard/guard_observer.h"
#include "redis/guard/last_lease.h"
#include "redis/guard/loss_judge.h"
#include "redis/guard/new_store_check.h"
#include "redis/guard/node_clock.h"
#include "redis/guard/roll_member.h"
#include "redis/guard/store_guard.h"
#include "redis/guard/token_floor.h"
#include "redis/node/node.h"

namespace lockkeeper::redis {

struct NodeGuardOptions {
  KeyLayout keys{"lk:"};
  std::string marker_key = keys.MarkerKey();
  // Of the daemon: then it is on the roll, and may end quarantines early. Empty: there is no roll.
  std::string roll_id;
  // Longest time between a call and its execution: later it is not executed any more.
  core::Millis call_lifetime{2'000};
  JudgePolicy policy;
  NewStoreCheckOptions new_store;
};

// Guards a store that has one marker. So it uses a route only to tell connections apart.
//
// Thread-safety: loop-thread only. Lifetime: borrows its collaborators.
class NodeGuard final : public StoreGuard {
 public:
  NodeGuard(Node& node, const core::Clock& clock, core::Executor& executor, GuardObserver& observer,
            NodeGuardOptions options);
  ~NodeGuard() override;
  NodeGuard(const NodeGuard&) = delete;
  NodeGuard& operator=(const NodeGuard&) = delete;

  bool Permits(Route route, core::Millis closes_for,
               Granting granting = Granting::kNothingNew) override;
  void SetListener(std::function<void()> on_change) override { on_change_ = std::move(on_change); }
  CallPermit Permit(Route route = {}, core::Millis closes_for = {}) const override;
  void OnRefused(Route route, core::Instant sent, RefusedFor reason) override;
  [[nodiscard]] bool OnAnswered(Route route, core::Instant sent, core::NodeTime node) override;
  void OnConfirmed(Route, core::Instant sent, const core::Lease& lease) override;
  void OnToken(Route, core::FencingToken token) override { token_floor_.SawToken(token); }
  std::string HeldBackBecause(Route route = {}) const override;
  absl::Status Refusal(Route route = {}) const override;
  void EndQuarantine(int64_t epoch, core::Done<core::EndQuarantineAnswer> done) override;
  ProofBasis proof_basis(Route route = {}) const override;

  // `on_epoch` runs when an epoch begins, in which what this daemon has told its clients has to be
  // restored. Requires: there is a roll.
  void RestoreBy(std::function<void(int64_t epoch)> on_epoch) { on_epoch_ = std::move(on_epoch); }
  // All of it is restored.
  void OnRestored(int64_t epoch);
  // The daemon has ended all its calls, and leaves the roll, so that its successor need not wait.
  void Leave();

  // A lease may last this long from now on, with its lock_delay: what a store is assumed to have
  // granted that no daemon knows. Never falls, because leases may run that were granted before. A
  // store that this daemon knows has the longest lease in its marker, which rises before a lease
  // is granted that is longer: see Permits().
  void CoverLeases(core::Millis longest_lease);

  // A daemon has just written a marker that begins with `stamp`.
  void OnMarkerWritten(std::string_view stamp);

  // The node's clock, as far as it is known: 0 before the first answer.
  core::NodeTime NodeNow() const;
  // The stamp of the marker that was confirmed last. Empty before the first look.
  const std::string& stamp() const { return stamp_; }
  StoreTrust trust() const;

 private:
  enum class MayImprove { kNo, kYes };  // See Sighting.

  // What the key of the marker holds: its text, and the marker if it is one.
  struct Found {
    std::string text;
    std::optional<SeenMarker> marker;
  };

  bool IsConfirmed(Route route) const;
  bool InQuarantine() const;
  // `epoch` is that of the marker that was there when the node's clock read `node`.
  bool LearnClock(core::Instant sent, core::NodeTime node, int64_t epoch);
  void LearnClockAnew(core::Instant sent, core::NodeTime node);
  bool IsNewer(const StoreMarker& marker) const;
  void NoteUnchanged(core::Instant sent);
  void LearnClockOfNewEpoch(core::Instant sent, core::NodeTime node, const SeenMarker& seen);
  core::Micros ClockOffset(const std::optional<SeenMarker>& seen) const;
  void Check(Route route, MayImprove may_improve = MayImprove::kNo);
  void CheckAgainSoon();
  void OnSeen(Route route, core::Instant sent, int64_t beats, MayImprove may_improve,
              absl::StatusOr<Reply> reply);
  bool IsRestarted(const Sighting& sighting) const;
  void AskForLastLease(Route route, Sighting sighting, std::string raw);
  void AskWhetherNew(Route route, Sighting sighting);
  void Decide(Route route, const Sighting& sighting, const std::string& raw);
  // `written` hears whether the marker was replaced.
  using Written = absl::AnyInvocable<void(const absl::Status&) &&>;
  void Replace(
      Route route, const std::string& expected, int64_t beats, Judgement judgement,
      Written written = [](const absl::Status&) {});
  void OnReplaced(Route route, core::Instant sent, const std::string& text, int64_t beats,
                  ClockSteps judged, const Judgement& judgement,
                  const absl::StatusOr<Reply>& reply);
  void Confirm(const SeenMarker& seen, const Judgement& judgement);
  void RaiseCeiling(Route route);
  void EndQuarantineNow(Route route, Written written);
  std::optional<Route> ConnectedRoute() const;
  void Doubt(Route route);
  void Beat();
  void BeatLater();
  void BeatSoon();
  void OnBeatAnswered(Route route, core::Instant sent, const std::string& text, int64_t beats,
                      const std::optional<Found>& found);
  bool IsOnRoll() const;
  void AddRoll(const StoreMarker* replacement, bool may_end_early, Command& command) const;
  void ReadRoll(const Reply& reply, bool wrote, core::NodeTime node);
  void NoteEpochOfRoll(int64_t epoch);
  void OnBeatOfRoll(Route route, core::Instant sent);
  core::Instant CallsUntil() const;
  void WatchQuarantine();
  void UpdateTrust();
  // Of a marker that is to be written.
  enum class Quarantine { kAsLong, kMayEndEarly };
  // `replacement`: null to look only.
  void RunMarkerScript(Route route, const std::string& expected, const StoreMarker* replacement,
                       int64_t beats, Quarantine quarantine, ReplyDone done);
  void EndCheck();
  void CarryBeats(int64_t count);
  void NoteRefusal(const std::string& answer);
  std::string Joining() const;
  std::optional<Found> TakeReply(Route route, core::Instant sent,
                                 const absl::StatusOr<Reply>& reply, std::string_view written = "");

  Node& node_;
  const core::Clock& clock_;
  core::Executor& executor_;
  TokenFloor token_floor_;
  GuardObserver& observer_;
  NodeGuardOptions options_;
  std::function<void()> on_change_ = [] {};

  std::optional<SeenMarker> known_;  // Confirmed last.
  bool trusted_ = false;             // Nothing has cast doubt on it since.
  bool checking_ = false;
  bool beating_ = false;
  ClockSteps clock_steps_;
  bool older_data_ = false;
  core::Instant epoch_known_at_;  // Calls since then carry the epoch of `known_`.
  // When the node's clock was learned anew, after it was set.
  core::Instant clock_learned_ = core::Instant::min();
  core::Millis isolation_{};  // The longest that a server had: see Sighting::life.
  int64_t evicted_ = 0;       // Keys that the server had evicted when it was judged last.
  core::Millis ceiling_wanted_{};
  NodeClock node_clock_;
  // Service time: the node's clock less the clock offset of `known_`. Steps that were noticed since
  // do not change it.
  NodeClock service_clock_;
  core::Instant service_clock_since_;  // When it was last taken over from others.
  bool step_measured_badly_ = false;   // And nobody has had the time to correct that.
  std::string stamp_;                  // Of `known_`.
  std::string marker_;  // `stamp_`, a space and the beats of `known_`: see CallPermit::marker.
  std::string epoch_;   // Of `known_`: see CallPermit::epoch.
  LastLease last_lease_;
  std::optional<RollMember> roll_;
  std::function<void(int64_t)> on_epoch_ = [](int64_t) {};
  core::Instant last_beat_;  // When the last one that was answered was sent.
  bool beat_soon_ = false;   // As soon as the one that is under way is answered.
  bool leaves_ = false;
  int64_t roll_epoch_ = 0;   // In which the daemon is on the roll.
  int64_t restores_in_ = 0;  // The epoch in which what it had told has yet to be restored; or 0.
  std::string reassertion_key_;
  std::optional<LossKind> last_loss_;
  core::NodeTime noticed_;
  std::string check_problem_;  // Why the last look at the marker failed, if Redis refused it.
  std::string waiting_;        // See StoreTrust.
  NewStoreCheck new_store_;
  StoreTrust told_;
  std::unique_ptr<core::Timer> beat_timer_;
  std::unique_ptr<core::Timer> retry_timer_;
  std::unique_ptr<core::Timer> quarantine_timer_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace lockkeeper::redis
