// SPDX-License-Identifier: Apache-2.0
//
// Checks the promises of the service while a run happens. It knows nothing of the simulator; tests
// with histories that were written by hand (tests/unit/simulation) show that it notices violations.
//
// It hears of events from three sides: from the store, which decides; from daemons, which answer;
// and from clients, which believe. The deeds of the store are checked against the promises; answers
// and beliefs are checked against the deeds of the store.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/requests.h"
#include "simulation/store_deeds.h"

namespace lockkeeper::simulation {

// Whether a store that can no longer be trusted has forgotten something.
enum class Forgot { kNothing, kSome };

class Judge final : public StoreDeeds {
 public:
  // How long the store remembers how a lease ended.
  explicit Judge(Micros retention) : retention_(retention) {}

  // Of every lease that a client is told of, the store has to have confirmed as much.
  void SetMinAssurance(core::Assurance least) { min_assurance_ = least; }
  core::Assurance min_assurance() const { return min_assurance_; }

  // The beliefs of clients. A grant was requested at `asked`; its client heard of it at `now`.
  void Granted(const std::string& lock, int64_t token, bool previous_expired, Instant asked,
               Instant now);
  void BeliefBegan(const std::string& lock, int client, int64_t token);
  void BeliefEnded(const std::string& lock, int client, int64_t token);

  // Calls: sent by a client; answered by a daemon; or never answered, because the daemon was killed
  // or the request was lost.
  void CallAsked(uint64_t call) { calls_[call] = 0; }
  void CallAnswered(uint64_t call);
  void CallGone(uint64_t call) { calls_.erase(call); }
  size_t UnansweredCalls() const;

  // The answers of daemons to an acquire:
  //   Refused    definitely not acquired;
  //   Delivered  granted, and the caller heard it;
  //   Drained    SERVER_DRAINING;
  //   Settled    a definite outcome, and not because the store was away;
  //   Answered   any answer, so that the call no longer waits in its place;
  //   GivenUp    the caller is gone or was told OUTCOME_UNKNOWN: the daemon withdraws any grant.
  void Refused(const Try& what, Instant now);
  void Delivered(const Try& what);
  void Drained(const Try& what);
  void Settled(const Try& what);
  void Answered(const Try& what, Instant now);
  void GivenUp(const Try& what, Instant now);

  // A daemon answered a release: it has ended the lease.
  void ToldReleased(const std::string& lock, const std::string& lease_id,
                    const std::string& daemon) {
    locks_[lock].released_by.emplace(lease_id, daemon);
  }

  // What clients hear of their leases. Assured: a heartbeat's answer did not name the lease, so it
  // is live until at least `until`. Told lost: the lease has ended, although its client can prove
  // it, or believes in it, until `proved_until`.
  void Assured(const std::string& lock, int64_t token, Instant until, Instant now);
  void ToldLost(const std::string& lock, int64_t token, Instant proved_until, Instant now);

  // The caller of a waiting acquire cancels it, and waits for its result.
  void Cancelled(const Try& what, Instant now);

  // The deeds of the store that counts.
  void Joined(const Try& what, int64_t number, Instant now) override;
  void FirstAttemptStands(const Try& what) override {
    locks_[what.lock].ended.erase(what.lease_id);
  }
  void LeftLine(const std::string& lock, const std::string& lease_id, Instant now) override;
  void InPlace(const std::string& daemon, const std::string& lock, Instant now) override;
  void TurnGiven(Turn turn, Instant now) override;
  void FoundVoid(const std::string& lock, const std::string& lease_id, Instant now) override;
  void Repeated(const Try& what, int32_t attempt, Instant now) override;
  void Extended(const std::string& lock, const std::string& lease_id, Instant end,
                Instant now) override;
  void Adopted(const Try& what) override;
  void Reasserted(Turn turn, Instant now) override;
  void Restored(Turn turn, bool runs, Instant now) override;
  void Fenced(const std::string& lock, int64_t token, bool admitted) override;
  void Released(const std::string& lock, const std::string& lease_id, Instant now) override;
  void ReleasedByEnd(const Try& what, Instant now) override;
  void ReleaseDenied(const std::string& lock, const std::string& lease_id, Instant now) override;
  void ReleaseDoubted(const std::string& lock, const std::string& lease_id, Instant now) override;
  void Withdrawn(const Try& what, Instant now) override;
  void WithdrawalKept(const Try& what, Instant now) override;
  void Declined(const Try& what) override;
  void SetAside(const Try& what, Instant now) override;
  void PassedOver(const Try& what, Instant now) override;
  void PutBack(const Try& what, Instant now) override;
  void ClaimWithdrawn(const Try& what, Instant now) override;
  void EpochBegan(Instant quarantine_end) override;
  void QuarantineLasts(Instant end) override { quarantine_end_ = std::max(quarantine_end_, end); }
  void QuarantineEnded(Instant now) override { quarantine_end_ = std::min(quarantine_end_, now); }
  void QuarantineEndedEarly(Instant now) override;

  // A server that has been replaced, and goes on for daemons that have not heard of that. What it
  // does, the store that counts has forgotten. But clients hear of it, and believe it.
  StoreDeeds& server_before() { return server_before_; }

  // A client was told that its lease had expired before its release.
  void ToldExpired(const std::string& lock, const std::string& lease_id);

  // A client was told of an offer. It has tried to claim it, once or more. It was told that it has
  // the lease.
  void OfferTold(const Try& what);
  void ClaimTried(const std::string& lock, const std::string& lease_id);
  void LeaseTold(const core::Lease& lease);

  // Whether a quarantine runs that protects nobody: nothing that the store may have forgotten is
  // live, or closes its lock, or is believed in by a client.
  bool QuarantineIsNeedless(Instant now) const;

  // Of a store without a line: an acquire stands in the line of its daemon for a lock, as the last
  // one, or at the place of an earlier attempt that left it just now; and it leaves that line.
  // FreedOver: the release that is reported last went over this daemon.
  void StandsHere(const Try& what, Instant now);
  void LeavesHere(const Try& what, Instant now);
  void FreedOver(const std::string& daemon, const std::string& lock, Instant now);

  // A fault strikes a daemon or its links. Its waiters may be overtaken until `until`, and until
  // they are InPlace again. A daemon that was never reported here is in good order.
  void Disturbed(const std::string& daemon, Instant until);

  // The daemon was killed.
  void DaemonGone(const std::string& daemon, Instant now);

  // The store may have forgotten leases, or was restarted without proof that it has not. `misled`
  // daemons may each begin one more quarantine.
  void StoreLost(Forgot forgot, Instant now, uint64_t misled = 0);

  // The node's clock was set forward, or back if negative. Everything in the store ends so much
  // sooner or later, even what was over.
  void ClockSet(Micros by, Instant now);

  // Another server takes the place of the one so far, with data that may be older. Its clock is so
  // far ahead, or behind if negative. From now on what it does are the deeds of the store, and what
  // the one before does is told to server_before(). Nobody hears of that from `used_until` on.
  // `misled` daemons may each begin one more quarantine.
  void Promoted(Micros clock_ahead, Instant now, Instant used_until, uint64_t misled);

  // Until then no lease need be taken back: for all that daemons know, a server before may still
  // give its lock to somebody else.
  void Isolated(Instant until) { isolated_until_ = std::max(isolated_until_, until); }

  // A valid proof of a lease was refused in a quarantine.
  void ProofRefused(const std::string& lock, Instant now);

  // The node's clock is being slewed: times may be wrong by a little.
  void ClockSlewed();

  // What is left after all clients have stopped and all times have passed.
  void Remains(int64_t keys_in_store, size_t outstanding, size_t sessions = 0);

  // A violation that the world itself noticed.
  void Violation(std::string what) { violations_.push_back(std::move(what)); }

  const std::vector<std::string>& violations() const { return violations_; }
  uint64_t grants() const { return grants_; }

 private:
  class ServerBefore final : public StoreDeeds {
   public:
    explicit ServerBefore(Judge& judge) : judge_(judge) {}

    void Joined(const Try& what, int64_t number, Instant now) override;
    void FirstAttemptStands(const Try&) override {}
    void LeftLine(const std::string& lock, const std::string& lease_id, Instant now) override;
    void InPlace(const std::string&, const std::string&, Instant) override {}
    void TurnGiven(Turn turn, Instant now) override;
    void FoundVoid(const std::string&, const std::string&, Instant) override {}
    void Repeated(const Try& what, int32_t attempt, Instant now) override;
    void Extended(const std::string& lock, const std::string& lease_id, Instant end,
                  Instant now) override;
    void Adopted(const Try& what) override { judge_.Adopted(what); }
    void Reasserted(Turn turn, Instant now) override;
    void Restored(Turn, bool, Instant) override {}
    void Fenced(const std::string& lock, int64_t token, bool admitted) override;
    void Released(const std::string& lock, const std::string& lease_id, Instant now) override;
    void ReleasedByEnd(const Try& what, Instant now) override;
    void ReleaseDenied(const std::string& lock, const std::string& lease_id, Instant now) override;
    void ReleaseDoubted(const std::string&, const std::string&, Instant) override {}
    void Withdrawn(const Try& what, Instant now) override;
    void WithdrawalKept(const Try& what, Instant now) override;
    void Declined(const Try& what) override { judge_.Declined(what); }
    void SetAside(const Try& what, Instant now) override { EndOffer(what, now); }
    void PassedOver(const Try& what, Instant now) override { EndOffer(what, now); }
    void PutBack(const Try& what, Instant now) override { EndOffer(what, now); }
    void ClaimWithdrawn(const Try& what, Instant now) override;
    void EpochBegan(Instant) override {}
    void QuarantineLasts(Instant) override {}
    void QuarantineEnded(Instant) override {}
    void QuarantineEndedEarly(Instant) override {}

   private:
    void EndOffer(const Try& what, Instant now);

    Judge& judge_;
  };

  enum class Phase { kNone, kOffered, kLease, kReleased, kWithdrawn };

  struct Waiter {
    int64_t number = 0;
    std::string keeper;
    Instant since;
  };
  // When something became void, and how many entries the void list had got by then.
  struct Void {
    Instant at;
    uint64_t entries = 0;
  };
  // A place in line, as the store has it.
  struct Place {
    int64_t number = 0;
    std::string keeper;
    Instant since;
    Instant kept_until = Instant::max();  // If it was set aside.
    // Since then it is not offered the lock, until it stands again.
    std::optional<Instant> passed_over_at;
  };
  struct Given {
    std::string lease_id;
    std::optional<bool> previous_expired;  // Nothing: the store may have forgotten.
    Instant over_at;                       // Once the next turn has begun.
    Instant told_end;                      // The same, had it not been ended before.
    Instant not_before = Instant::min();   // Nobody may hear of it, if a wrong clock gave it.
    Instant hold_end = Instant::min();     // By hold_at_least, had nobody set the clock.
  };
  // The line of one daemon for one lock.
  struct LocalLine {
    struct Place {
      std::string lease_id;
      std::string keeper;
      Instant since;
      std::optional<Instant> left;
    };
    Instant since;  // It has not been empty.
    std::vector<Place> places;
  };
  struct Lock {
    std::vector<std::pair<Instant, int64_t>> heard_of;  // (when, highest token), rising in both.
    int believer = -1;
    int64_t belief_token = 0;

    Turn turn;                          // The last one.
    Instant end_set_at;                 // Its end.
    Instant hold_end = Instant::min();  // Until then hold_at_least keeps it closed.
    Instant told_end;      // As its holder was told last, whatever became of the node's clock.
    uint64_t epoch = 0;    // In which it was given or taken back.
    Micros proof_short{};  // By so much its proof ends too early.
    bool only_restored = false;  // Its holder has not been heard of since.
    // Until then a restored lease that had ended keeps it closed.
    Instant closed_by_ended_until = Instant::min();
    std::string ended_restored;              // Its lease id.
    bool doubted = false;                    // The store may have forgotten it.
    bool forgotten = false;                  // And has forgotten something.
    bool line_from_before = false;           // Older data may have brought places back.
    bool taken_over = false;                 // The promoted server has ended or given this turn.
    Instant outdone_until = Instant::min();  // What a proof with a lower token took the lock from.
    Phase phase = Phase::kNone;
    bool end_doubted =
        false;  // It was released, but the store cannot know whether it ran until then.
    bool over_before = false;  // The turn was over before it ran again: the clock was set back.
    std::optional<bool> previous_expired = false;  // Before `turn`.
    Instant over_at;                               // If it was ended.
    Instant put_back_at = Instant::min();  // The last offer that was. The next poll makes it anew.
    bool told_before = false;              // It is an offer to a call that was told of another one.
    int64_t token = 0;
    std::map<int64_t, Given> given;  // By token.
    Instant extends_from;            // Since when extends of this turn are counted.
    int extends = 0;

    struct Claim {
      core::Assurance asked = core::Assurance::kNone;
      int tries = 0;
    };
    std::map<std::string, Claim> claims;  // Of offers that were told, by lease id.

    std::map<std::string, Waiter> line;                   // By lease id.
    std::map<std::string, Place> places;                  // Of those that have not left,
    std::map<std::string, Place> places_before;           // and had them before the line was lost.
    std::set<std::pair<std::string, std::string>> stood;  // Lease ids and keepers that had a place.
    std::set<std::pair<std::string, int64_t>> numbers;    // That each has had.
    std::unordered_map<std::string, Instant> ended;       // Lease ids that no repeat gets again,
    std::unordered_map<std::string, Void> released;       // lease ids,
    std::unordered_map<std::string, Void> found_void;     // before that,
    std::unordered_set<std::string> denied;  // lease ids whose release a wrong clock denied,
    std::unordered_set<std::string> ends;    // lease ids that were released, keepers that withdrew,
    std::unordered_set<std::string> forgotten_ends;             // those of before a loss,
    std::set<std::pair<std::string, std::string>> released_by;  // lease ids, and by which daemon,
    std::unordered_map<std::string, Void> refused;              // keepers,
    std::unordered_map<std::string, Instant> given_up;          // keepers,
    std::unordered_map<std::string, Instant> cancelled;         // keepers,
    std::unordered_set<std::string> declined;                   // keepers that had no answer yet,
    std::unordered_set<std::string> answered;                   // keepers,
    std::unordered_set<std::string> delivered;                  // keepers,
    std::unordered_set<std::string> drained;                    // keepers.
    std::map<std::string, LocalLine> local_lines;               // By daemon.
    std::string freed_over;                                     // By a release over this daemon.
    uint64_t void_entries = 0;
    std::unordered_map<std::string, Instant> in_place;  // By daemon: since then, after a fault.
    std::unordered_map<std::string, Instant> stuck_at;  // By daemon: taken for that by the store.
  };

  bool ClockGivesTooEarly() const;
  Micros ProofShort() const;
  Instant EndOf(const Lock& lock) const { return lock.doubted ? lock.told_end : lock.turn.end; }
  Instant FreeSince(const Lock& lock) const;
  Instant HoldEnd(const Lock& lock) const;
  static Instant LatestHoldEnd(const Lock& lock);
  bool IsClosedByHold(const Lock& lock) const;
  void HoldBegins(Lock& lock, Instant now);
  void CheckHoldTakenBack(const Turn& turn, Instant hold_end, Instant now);
  void CheckWasGiven(const Lock& lock, const Turn& turn, const std::string& deed);
  void TakeBack(Lock& lock, Turn turn, Instant now);
  bool MayHaveExpired(const Lock& lock) const;
  Instant OverAt(const Lock& lock, int64_t token) const;
  void BeginTurn(Lock& lock, Turn turn, Instant now, Instant not_before);
  Instant EndKnownSince(const Lock& lock) const;
  std::optional<Instant> DisturbedUntil(const Lock& lock, const std::string& daemon) const;
  Instant InOrderSince(const Lock& lock, const std::string& daemon) const;
  void NoteStuck(Lock& lock, const Turn& next, Instant now);
  Instant TakenBackBy(const Lock& lock, const std::string& keeper, Instant since) const;
  Instant DoneBy(const std::string& keeper, Instant since) const;
  std::optional<bool> PreviousExpired(const Lock& lock, Instant now) const;
  bool IsVoid(const Lock& lock, const Void& entry, Instant now) const;
  bool HasAgain(const Lock& lock, const std::string& lease_id, int64_t number) const;
  void CheckPlaceBefore(Lock& lock, const Try& what, int64_t number);
  void CheckBehindPlacesBefore(const Lock& lock, const Try& what, int64_t number);
  void LetStandInQuarantine(Lock& lock, const std::string& lease_id, Instant now) const;
  void CheckVoid(const Lock& lock, const Try& what, const char* event, Instant now);
  void CheckRepeat(Lock& lock, const Turn& turn, Instant now);
  void CheckOrder(const Lock& lock, const Turn& turn, Instant now);
  void CheckReceiver(const Turn& turn);
  static bool IsEmpty(const LocalLine& line);
  void CheckLocalOrder(const Lock& lock, const Turn& turn);
  void CheckLocalIdle(const Lock& lock, const std::string& daemon, const LocalLine& line,
                      Instant now);
  void CheckIdle(const Lock& lock, const std::string& lease_id, const Waiter& waiter, Instant now);
  void CheckHowOften(Lock& lock, const std::string& lease_id, Instant now);
  void CheckCancelled(const Lock& lock, const Try& what, Instant now);
  void StandAgain(Lock& lock, const std::string& daemon, Instant now);
  void CheckTurnOfGivenUp(Lock& lock, Instant now);
  void CheckTurnOfTold(Lock& lock, Instant now);
  bool EndsUntold(const Lock& lock, const Try& what, const std::string& how);
  void CheckPassedOver(const Lock& lock, const std::string& lease_id, const Place& place,
                       Instant now);
  void CheckPlaceOfGivenUp(Lock& lock, const std::string& lease_id, const Place& place,
                           Instant now);
  void Leave(Lock& lock, const std::string& lease_id, Instant now);
  static void LeavePlaceBefore(Lock& lock, const Try& what);

  const Micros retention_;
  core::Assurance min_assurance_ = core::Assurance::kNone;
  std::map<std::string, Lock> locks_;
  std::map<std::string, Instant> disturbed_until_;  // By daemon.
  std::map<std::string, Instant> gone_;             // By daemon.
  std::map<uint64_t, int> calls_;
  std::vector<std::string> violations_;
  uint64_t grants_ = 0;
  uint64_t losses_ = 0;
  uint64_t epochs_ = 0;
  uint64_t epochs_before_ = 0;  // When the server before was replaced.
  Instant before_used_until_ = Instant::min();
  Instant isolated_until_ = Instant::min();
  Instant losses_matter_until_ = Instant::min();  // To what heartbeats were answered before.
  Instant quarantine_end_ = Instant::min();
  Micros tolerance_{};
  bool clock_was_set_ = false;
  // What an answer tells of the node's clock is as exact as this.
  static constexpr Micros kClockTold{60'000};
  Micros clock_ahead_{};       // As long as nobody has noticed that it was set.
  Micros clock_nudged_{};      // The same by steps that no answer tells of; they add up.
  bool can_see_step_ = false;  // One forward since the epoch began.
  Micros clock_behind_{};
  ServerBefore server_before_{*this};
};

}  // namespace lockkeeper::simulation
