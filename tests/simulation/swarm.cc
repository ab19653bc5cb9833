// SPDX-License-Identifier: Apache-2.0
#include "simulation/swarm.h"

#include <algorithm>
#include <array>
#include <vector>

#include "simulation/store_link.h"

namespace lockkeeper::simulation {
namespace {

using core::Millis;
using enum FaultKind;

// As many are bearable: each leaves tokens further ahead of the clock.
constexpr int kLossesMax = 4;
constexpr int kNudgesMax = 4;
// From what may be called a step to what no script accepts, in microseconds.
constexpr int64_t kNudgeMin = 40'000;
constexpr int64_t kNudgeMax = 2'000'000;
// A slow answer that matters; a connection that is slower than the longest is given up.
constexpr int64_t kSlowMin = 100'000;

constexpr uint64_t kHotOneIn = 32;

// Half of the faults are of these: what clocks do is behind most of what was ever found.
constexpr std::array kLossKinds = {
    kStoreFlushed,     kRestartEmpty,    kRestartOlder,    kRestartUnproved, kNodeClockForward,
    kNodeClockFarBack, kNodeClockSlewed, kNodeClockNudged, kNodeClockBack,   kDataReplaced,
    kLogCut,           kFailover,        kFailover,        kFailoverOrdered};
constexpr std::array kDaemonKinds = {kDaemonCrash,  kDaemonPause,  kDaemonDrain,
                                     kStoreCut,     kStoreSlow,    kStoreReplyLost,
                                     kMessagesLost, kMessagesLate, kSubscriptionDown};
// What a daemon knows of the leases of a session is as old as the answers of the store.
constexpr std::array kStreamKinds = {kStreamBroken, kStreamHalfOpen, kStreamDead, kReaderStill,
                                     kStoreSlow};
constexpr std::array kOtherKinds = {kNetworkSlow, kNetworkLossy, kNetworkDuplicates,
                                    kClientDeath, kClientPause,  kScriptsForgotten,
                                    kNodeRestart};

// What lasts in the service and in the simulator, in microseconds: an offer and a call, a mark of a
// daemon, how long a reply is waited for, a beat.
constexpr std::array<int64_t, 4> kKnownTimes = {1'000'000, 3'000'000, 500'000, 1'200'000};

FaultKind DrawKind(const Schedule& schedule, support::Random& random) {
  switch (random.Below(8)) {
    case 0:
    case 1:
    case 2:
      return random.Pick(kDaemonKinds);
    case 3:
      if (schedule.session_clients > 0) return random.Pick(kStreamKinds);
      return random.Pick(kDaemonKinds);
    case 4:
      return random.Pick(kOtherKinds);
    default:
      return random.Pick(kLossKinds);
  }
}

Micros DrawDuration(const Schedule& schedule, support::Random& random) {
  if (!random.OneIn(3)) return Micros(Spread(random, 1'000, 6'000'000));
  const int64_t near = random.OneIn(3) ? Micros(schedule.ttl).count() : random.Pick(kKnownTimes);
  return Micros(near + random.Between(-5'000, 5'000));
}

Fault DrawFaultOf(FaultKind kind, const Schedule& schedule, support::Random& random) {
  Fault fault;
  fault.kind = kind;
  fault.at = Micros(random.Between(0, schedule.faults_end.count()));
  const bool nudge = kind == kNodeClockNudged;
  fault.duration = DrawDuration(schedule, random);
  if (nudge) fault.duration = Micros(Spread(random, kNudgeMin, kNudgeMax));
  if (kind == kStoreSlow && random.OneIn(2)) {
    fault.duration = Micros(Spread(random, kSlowMin, StoreLink::kReplyTimeout.count()));
  }
  // One after the other on the same is worse than on many. Of the clock it says which way it is
  // set.
  if (nudge || random.OneIn(2)) fault.target = static_cast<uint32_t>(random.Below(1000));
  return fault;
}

bool IsLoss(FaultKind kind) {
  return IsFailover(kind) || (kind >= kStoreFlushed && kind <= kLogCut &&
                              kind != kNodeClockSlewed && kind != kNodeClockNudged);
}

// Half of the faults follow on another one.
void DrawFaults(Schedule& schedule, support::Random& random) {
  std::vector<FaultKind> kinds;
  const int64_t count_of_kinds = random.Between(1, 4);
  kinds.reserve(static_cast<size_t>(count_of_kinds));
  for (int64_t i = 0; i < count_of_kinds; ++i) kinds.push_back(DrawKind(schedule, random));
  const int64_t count = Spread(random, 2, 12);
  for (int64_t i = 0; i < count; ++i) {
    Fault fault = random.OneIn(8) ? DrawFault(schedule, random)
                                  : DrawFaultOf(random.Pick(kinds), schedule, random);
    if (!schedule.faults.empty() && random.OneIn(2)) {
      const Fault& before = random.Pick(schedule.faults);
      fault.at = before.at + (random.OneIn(2) ? before.duration : Micros(0)) +
                 Micros(random.OneIn(3) ? random.Between(-5'000, 5'000)
                                        : Spread(random, 1'000, 2'000'000));
      fault.at = std::clamp(fault.at, Micros(0), schedule.faults_end);
      if (random.OneIn(2)) fault.target = before.target;
    }
    schedule.faults.push_back(fault);
  }
}

int OneIn(support::Random& random, int often, int seldom) {
  return static_cast<int>(Spread(random, often, seldom));
}

}  // namespace

int64_t Spread(support::Random& random, int64_t low, int64_t high) {
  int64_t doublings = 0;
  while ((low << (doublings + 1)) <= high) ++doublings;
  const int64_t from = low << random.Between(0, doublings);
  return random.Between(from, std::min(2 * from, high));
}

Fault DrawFault(const Schedule& schedule, support::Random& random) {
  return DrawFaultOf(DrawKind(schedule, random), schedule, random);
}

void AddReplicas(Schedule& schedule, support::Random& random) {
  schedule.replicas_confirm = random.OneIn(2);
  schedule.assured_one_in = static_cast<int>(random.Between(1, 3));
  const int64_t count = random.Between(1, 6);
  for (int64_t i = 0; i < count; ++i) {
    const FaultKind kind = random.OneIn(3) ? kConfirmationsDown : kReplicasAway;
    schedule.faults.push_back(DrawFaultOf(kind, schedule, random));
  }
  Normalize(schedule);
}

void LimitLosses(Schedule& schedule) {
  int losses = 0;
  int nudges = 0;
  std::erase_if(schedule.faults, [&](const Fault& fault) {
    if (IsLoss(fault.kind)) return ++losses > kLossesMax;
    const bool nudge = fault.kind == kNodeClockNudged || fault.kind == kNodeClockBack;
    return nudge && ++nudges > kNudgesMax;
  });
}

Schedule DrawSwarm(support::Random& random) {
  Schedule schedule;
  schedule.seed = random.Bits();
  schedule.daemons = random.OneIn(2) ? 2 : static_cast<int>(random.Between(2, 4));
  schedule.entrances = random.OneIn(2) ? 1 : schedule.daemons;
  schedule.balanced = random.OneIn(2);
  schedule.clients =
      static_cast<int>(random.OneIn(15) ? random.Between(12, 40) : Spread(random, 2, 9));
  schedule.locks = random.OneIn(3) ? static_cast<int>(random.Between(2, 3)) : 1;
  schedule.ttl = Millis(Spread(random, 500, 5'000));
  if (random.OneIn(4)) schedule.lock_delay = Millis(Spread(random, 1, 1'500));
  if (random.OneIn(6)) schedule.max_hold = Millis(Spread(random, 300, 3'000));
  schedule.scripts_loaded = !random.OneIn(5);
  schedule.guarded = false;
  schedule.faults_end = Micros(random.Between(6'000'000, 19'500'000));
  // About as much to do in every run, however many there are who do it.
  // In a few much more: a lock forgets which leases have ended when they are many.
  const bool hot = random.OneIn(kHotOneIn);
  const int64_t rounds = hot ? Spread(random, 100, 400) : Spread(random, 8, 60);
  const int64_t think = 2 * schedule.faults_end.count() * schedule.clients / rounds;
  schedule.think_max = Micros(std::min<int64_t>(think, 16'500'000));
  schedule.hold_max = Micros(Spread(random, 1'000, hot ? 20'000 : 8'000'000));
  schedule.wait_max = Millis(Spread(random, 100, 20'000));
  schedule.cancel_one_in = OneIn(random, 1, 40);
  schedule.confirm_one_in = random.OneIn(4) ? 1'000'000 : OneIn(random, 1, 4);
  schedule.careless_one_in = OneIn(random, 1, 40);
  if (random.OneIn(2)) {
    schedule.session_clients = static_cast<int>(random.Between(1, schedule.clients));
    schedule.session_leases = static_cast<int>(random.Between(1, 3));
  }
  DrawFaults(schedule, random);
  LimitLosses(schedule);
  Normalize(schedule);
  if (schedule.guarded && random.OneIn(2)) schedule.ttl = Millis(Spread(random, 500, 2'000));
  // Much is done in the few seconds for which two servers go on.
  if (HasFailover(schedule)) {
    schedule.think_max = std::min(schedule.think_max, Micros(Spread(random, 50'000, 1'000'000)));
  }
  if (schedule.guarded && random.OneIn(3)) {
    schedule.clinging_one_in = static_cast<int>(random.Between(1, 4));
  }
  if (schedule.guarded && random.OneIn(3)) {
    schedule.prove_ended_one_in = static_cast<int>(random.Between(1, 3));
  }
  if (random.OneIn(4)) schedule.impatient_one_in = static_cast<int>(random.Between(1, 4));
  if (random.OneIn(4)) schedule.slow_claim_one_in = static_cast<int>(random.Between(1, 4));
  if (random.OneIn(4)) schedule.hand_on_one_in = static_cast<int>(random.Between(1, 2));
  schedule.ends_quarantines = schedule.guarded && random.OneIn(4);
  if (random.OneIn(4)) schedule.hold_at_least = Millis(Spread(random, 1, 6'000));
  if (random.OneIn(4)) AddReplicas(schedule, random);
  schedule.restores = HasFailover(schedule) && !schedule.ends_quarantines && random.OneIn(2);
  return schedule;
}

}  // namespace lockkeeper::simulation
