// SPDX-License-Identifier: Apache-2.0
//
// Sees to it that nothing is granted by a store that may have forgotten leases. Keeps the marker of
// the store, gives each script call what it has to find there, and holds calls back while that is
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
#include "redis/guard/token_floor.h"
#include "redis/node/node.h"

namespace lockkeeper::redis {

struct NodeGuardOptions {
  KeyLayout keys{"lk:"};
  // Longest time between a call and its execution: later it is not executed any more.
  core::Millis call_lifetime{2'000};
  JudgePolicy policy;
  NewStoreCheckOptions new_store;
};

// Whether a call may give a lock to somebody new.
enum class Granting { kNothingNew, kAnew };

// What a script call carries for the guard; as it is here for a store without one. Its texts are
// the guard's: they last until it hears of anything.
struct CallPermit {
  std::string_view stamp;  // That the marker has to begin with. Empty: there is no guard.
  std::string_view beats;  // That it has to have at least, 16 digits.
  std::string_view epoch = "0000000001";  // 10 digits.
  core::NodeTime grants_from;             // Nothing new is granted before.
  core::NodeTime earliest;                // The node's clock has to read
  core::NodeTime latest;                  // something in between.
};

// Thread-safety: loop-thread only. Lifetime: borrows its collaborators.
class NodeGuard {
 public:
  NodeGuard(Node& node, const core::Clock& clock, core::Executor& executor, TokenFloor& token_floor,
            GuardObserver& observer, NodeGuardOptions options);
  ~NodeGuard();
  NodeGuard(const NodeGuard&) = delete;
  NodeGuard& operator=(const NodeGuard&) = delete;

  // Whether a call may go on `lane` now that keeps a lock closed for `closes_for` at most. If not,
  // what is missing is under way, and `on_change` will be called. A lane without a connection may
  // always be asked: it answers so.
  bool Permits(size_t lane, core::Millis closes_for, Granting granting = Granting::kNothingNew);

  // `on_change`: whoever was not permitted should ask again.
  void SetListener(std::function<void()> on_change) { on_change_ = std::move(on_change); }

  // What a call needs to be carried out that keeps locks closed for `closes_for` at most. Without a
  // confirmed marker one that no script accepts.
  CallPermit Permit(core::Millis closes_for = {}) const;
  const std::string& marker_key() const { return marker_key_; }

  // A script refused a call because of its permit, and did nothing.
  void OnRefused(size_t lane);
  // The same, of one that was sent at `sent`: the store has an older marker than this daemon knows.
  void OnOlderData(size_t lane, core::Instant sent);

  // A call that was sent at `sent` has just been answered. False if the node's clock was set while
  // it was under way: what the script did may have been done by a wrong clock.
  [[nodiscard]] bool OnAnswered(size_t lane, core::Instant sent, core::NodeTime node);

  // The store has confirmed that a lease runs: it must not forget that.
  void OnConfirmed(const core::Lease& lease) { last_lease_.Confirmed(lease); }

  // A daemon has just written a marker that begins with `stamp`.
  void OnMarkerWritten(std::string_view stamp);

  // Why calls are held back, for people; empty if they are not, or for no more than a moment.
  std::string HeldBackBecause() const;

  // Why nothing is granted. Requires: a script said so.
  absl::Status Refusal();

  // A holder has shown a proof.
  void OnReassertion(ReassertionEnd end) { observer_.OnReassertion(end); }

  // The node's clock, as far as it is known: 0 before the first answer.
  core::NodeTime NodeNow() const;
  // How far the node's clock is ahead of service time, as far as that is known.
  core::Micros clock_offset() const {
    return known_ ? known_->marker.clock_offset : core::Micros(0);
  }
  // With its lock_delay, of those that this store has granted. 0 before it has been looked at.
  core::Millis longest_lease() const {
    return known_ ? known_->marker.ttl_ceiling : core::Millis(0);
  }
  // What leases are proved with. Empty until the store has been looked at.
  const std::string& reassertion_key() const { return reassertion_key_; }
  StoreTrust trust() const;

 private:
  enum class MayImprove { kNo, kYes };  // See Sighting.

  bool IsConfirmed(size_t lane) const;
  bool InQuarantine() const;
  // `epoch` is that of the marker that was there when the node's clock read `node`.
  bool LearnClock(core::Instant sent, core::NodeTime node, int64_t epoch);
  void LearnClockAnew(core::Instant sent, core::NodeTime node);
  bool IsNewer(const StoreMarker& marker) const;
  void LearnClockOfNewEpoch(core::Instant sent, core::NodeTime node, const SeenMarker& seen);
  core::Micros ClockOffset(core::Instant sent, core::NodeTime node,
                           const std::optional<SeenMarker>& seen) const;
  void Check(size_t lane, MayImprove may_improve = MayImprove::kNo);
  void CheckAgainSoon();
  void OnSeen(size_t lane, core::Instant sent, int64_t beats, MayImprove may_improve,
              absl::StatusOr<Reply> reply);
  bool IsRestarted(const Sighting& sighting) const;
  void AskForLastLease(size_t lane, Sighting sighting, std::string raw);
  void AskWhetherNew(size_t lane, Sighting sighting);
  void Decide(size_t lane, const Sighting& sighting, const std::string& raw);
  void Replace(size_t lane, const std::string& expected, int64_t beats, Judgement judgement);
  void Confirm(const SeenMarker& seen, const Judgement& judgement);
  void RaiseCeiling(size_t lane);
  std::optional<size_t> ConnectedLane() const;
  void Beat();
  void BeatLater();
  void WatchQuarantine();
  void UpdateTrust();
  void RunMarkerScript(size_t lane, const std::string& expected, const std::string& replacement,
                       int64_t beats, absl::AnyInvocable<void(absl::StatusOr<Reply>) &&> done);
  void EndCheck();
  void NoteRefusal(const std::string& answer);
  // What is where the marker should be: its text, and what that says if it is one.
  struct Found {
    std::string text;
    std::optional<SeenMarker> marker;
  };
  std::optional<Found> TakeReply(size_t lane, core::Instant sent,
                                 const absl::StatusOr<Reply>& reply, std::string_view written = "");

  Node& node_;
  const core::Clock& clock_;
  core::Executor& executor_;
  TokenFloor& token_floor_;
  GuardObserver& observer_;
  const NodeGuardOptions options_;
  const std::string marker_key_;
  std::function<void()> on_change_ = [] {};

  std::optional<SeenMarker> known_;  // Confirmed last.
  bool trusted_ = false;             // Nothing has spoken against it since.
  bool checking_ = false;
  bool beating_ = false;
  ClockSteps clock_steps_;
  bool older_data_ = false;
  core::Instant epoch_known_at_;  // Since then calls carry the epoch that is known.
  core::Instant clock_learned_ = core::Instant::min();  // Anew, after it was set.
  int64_t evicted_ = 0;                                 // By the server when it was judged last.
  core::Millis ceiling_wanted_{};
  NodeClock node_clock_;
  // Service time: the node's clock less the offset of the marker that is known, whatever steps have
  // been noticed since; and since when it was taken from others.
  NodeClock service_clock_;
  core::Instant service_clock_since_;
  std::string stamp_;  // Of the marker that is known, and its epoch, as calls carry them.
  std::string epoch_;
  std::string beats_;
  LastLease last_lease_;
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
