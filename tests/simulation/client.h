// SPDX-License-Identifier: Apache-2.0
//
// One simulated client with unary calls. It repeats: acquire a lock, add one to the counter that
// the lock guards, release. It follows the client contract (client/README.md). It may claim offers
// itself, give up waiting, and be paused beyond the end of its lease.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/requests.h"
#include "simulation/any_client.h"
#include "simulation/fenced_counter.h"
#include "simulation/judge.h"
#include "simulation/process.h"
#include "simulation/rpc.h"
#include "simulation/schedule.h"
#include "support/manual_executor.h"
#include "support/random.h"

namespace lockkeeper::simulation {

class Client final : public AnyClient {
 public:
  struct World {
    const core::Clock& clock;
    support::ManualExecutor& executor;
    Rpc& rpc;
    Judge& judge;
    std::vector<FencedCounter>& counters;  // One for each lock.
    const Schedule& schedule;
  };

  Client(const World& world, int index, support::Random random);

  void Start() override;

  void Stop() override { stopping_ = true; }
  bool idle() const override { return !busy_; }
  void RunLastLap() override;
  int last_laps() const override { return last_laps_; }
  void Kill() override;
  Process& process() override { return process_; }

 private:
  struct Round;
  using RoundPtr = std::shared_ptr<Round>;

  void Next();
  void Send(const RoundPtr& round);
  void OnAnswer(const RoundPtr& round, core::Instant sent,
                absl::StatusOr<core::AcquireAnswer> answer);
  void Retry(const RoundPtr& round, const absl::Status& why);
  void ClaimInTime(const RoundPtr& round);
  void Claim(const RoundPtr& round, int tries);
  void GiveUpAtRandom(const RoundPtr& round);
  void SendAnewAtRandom(const RoundPtr& round);
  void Hold(const RoundPtr& round, core::Instant asked, const core::Lease& lease);
  void Renew(const RoundPtr& round);
  void ProveEndedAtRandom(const RoundPtr& round);
  void ProveEnded(const RoundPtr& round);
  void Cling(const RoundPtr& round, core::Instant until);
  core::ExtendRequest ExtendOf(const Round& round) const;
  void EndBelief(const RoundPtr& round);
  void Work(const RoundPtr& round);
  void AskFence(const RoundPtr& round);
  void Release(const RoundPtr& round, int tries);
  void Done(const RoundPtr& round);
  bool Believes(const Round& round) const;
  size_t DaemonForCall();

  const World world_;
  const int index_;
  support::Random random_;
  support::Random impatience_;
  Process process_;
  int daemon_ = 0;  // Where the next acquire goes, modulo their number.
  bool stopping_ = false;
  bool busy_ = false;
  bool last_lap_ = false;
  int last_laps_ = 0;
  RoundPtr round_;
};

}  // namespace lockkeeper::simulation
