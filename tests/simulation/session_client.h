// SPDX-License-Identifier: Apache-2.0
//
// One simulated client that uses sessions. Unlike Client it holds several locks at a time, sends
// heartbeats instead of extends, and adopts its leases in a new session when the stream breaks or
// the daemon drains.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/session.h"
#include "simulation/any_client.h"
#include "simulation/fenced_counter.h"
#include "simulation/judge.h"
#include "simulation/rpc.h"
#include "simulation/schedule.h"
#include "simulation/stream.h"
#include "support/manual_executor.h"
#include "support/random.h"

namespace lockkeeper::simulation {

class SessionClient final : public AnyClient {
 public:
  struct World {
    const core::Clock& clock;
    support::ManualExecutor& executor;
    Rpc& rpc;
    Streams& streams;
    Judge& judge;
    std::vector<FencedCounter>& counters;  // One for each lock.
    const Schedule& schedule;
  };

  SessionClient(const World& world, int index, support::Random random);

  void Start() override;
  void Stop() override;
  bool idle() const override { return rounds_.empty() && links_.empty(); }
  void RunLastLap() override;
  int last_laps() const override { return last_laps_; }
  void Kill() override;
  Process& process() override { return process_; }

  // Faults of the stream in use, if there is one.
  void BreakStream(Blind blind, core::Micros blind_for);
  void StandStill(core::Micros duration);

 private:
  struct Round;
  using RoundPtr = std::shared_ptr<Round>;
  struct Link;
  using LinkPtr = std::shared_ptr<Link>;
  struct Question;
  using Answer = absl::StatusOr<core::SessionAnswer>;

  // Streams.
  LinkPtr CurrentLink();
  // Returns the number of the operation.
  uint64_t Ask(LinkPtr link, Question question);
  void OnMessage(LinkPtr link, SessionMessage message);
  void OnBeat(Link& link, const SessionMessage::Beat& beat);
  void OnBroken(LinkPtr link);
  void Abandon(LinkPtr link);
  void MoveOn();
  void EndUnused();
  void CloseHandedOn(LinkPtr link);
  void CloseIfDone();
  void CloseReleasing(const RoundPtr& round);
  void AdoptAll();
  void Adopt(const RoundPtr& round);
  void StartBeating(LinkPtr link);
  void Beat(LinkPtr link);

  // Rounds.
  core::Micros Think();
  void Next();
  void Send(const RoundPtr& round);
  void OnAcquired(const RoundPtr& round, const LinkPtr& link, core::Instant sent,
                  const Answer& answer);
  void Retry(const RoundPtr& round, const absl::Status& why);
  void ClaimInTime(const RoundPtr& round, const LinkPtr& link);
  void Claim(const RoundPtr& round, const LinkPtr& link);
  void GiveUpAtRandom(const RoundPtr& round);
  void Hold(const RoundPtr& round, const LinkPtr& link, core::Instant asked,
            const core::Lease& lease);
  void Extend(const RoundPtr& round);
  void Prolong(Round& round, core::Instant end);
  void WatchEnd(const RoundPtr& round);
  void StopBelieving(Round& round);
  void Lost(Round& round);
  void Work(const RoundPtr& round);
  void Release(const RoundPtr& round, int tries);
  void Done(const RoundPtr& round);
  bool Believes(const Round& round) const;

  const World world_;
  const int index_;
  support::Random random_;
  support::Random oddity_;  // For the habits that only some schedules have.
  Process process_;
  int daemon_ = 0;                // Where the next session goes, modulo their number.
  LinkPtr link_;                  // In use; null if there is none.
  std::vector<LinkPtr> links_;    // All that have not ended, in the order of their opening.
  std::vector<RoundPtr> rounds_;  // In progress.
  const size_t patience_;         // How many heartbeats may be unanswered.
  const core::Millis beat_every_;
  bool stopping_ = false;
  bool last_lap_ = false;
  bool lapping_ = false;
  int last_laps_ = 0;
};

}  // namespace lockkeeper::simulation
