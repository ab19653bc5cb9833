// SPDX-License-Identifier: Apache-2.0
#include "simulation/search.h"

#include <algorithm>
#include <array>
#include <utility>

#include "simulation/swarm.h"

namespace lockkeeper::simulation {
namespace {

// So many schedules come from the swarm before the first is changed, then one in so many.
constexpr uint64_t kSwarmFirst = 50;
constexpr uint64_t kSwarmOneIn = 3;
constexpr size_t kFaultsMax = 16;
constexpr int64_t kOrderMax = 16;
constexpr std::array kOrderDigits = {'0', '0', '1', '2'};

}  // namespace

Schedule Search::Next() {
  const bool from_swarm = drawn_++ < kSwarmFirst || pioneers_.empty() || random_.OneIn(kSwarmOneIn);
  return from_swarm ? DrawSwarm(random_) : Mutate(PickPioneer());
}

void Search::Learn(const Schedule& schedule, const Coverage& coverage) {
  std::vector<Coverage::Sight> first;
  for (const Coverage::Sight& sight : coverage.sights()) {
    if (++seen_[sight.what] == 1) first.push_back(sight);
  }
  if (!first.empty() && drawn_ > kSwarmFirst / 2) {
    pioneers_.push_back({schedule, coverage, std::move(first)});
  }
}

// Of some, the one whose rarest sight the fewest have seen.
const Search::Pioneer& Search::PickPioneer() {
  const Pioneer* best = nullptr;
  uint64_t best_seen = 0;
  for (int i = 0; i < 3; ++i) {
    const Pioneer& pioneer = random_.Pick(pioneers_);
    uint64_t seen = UINT64_MAX;
    for (const Coverage::Sight& sight : pioneer.first) seen = std::min(seen, seen_[sight.what]);
    if (!best || seen < best_seen) {
      best = &pioneer;
      best_seen = seen;
    }
  }
  return *best;
}

// A time around which a fault may matter, give or take some milliseconds or what a message takes.
Micros Search::PickMoment(const Pioneer& pioneer, const Schedule& schedule) {
  Micros moment(random_.Between(0, schedule.faults_end.count()));
  const auto& edges = pioneer.coverage.edges(static_cast<Edge>(random_.Below(kEdges)));
  switch (random_.Below(5)) {
    case 0:
    case 1:
      moment = random_.Pick(pioneer.first).at;
      break;
    case 2:
    case 3:
      if (!edges.empty()) moment = random_.Pick(edges);
      break;
    default:
      if (!schedule.faults.empty()) {
        const Fault& fault = random_.Pick(schedule.faults);
        moment = fault.at + (random_.OneIn(2) ? fault.duration : Micros(0));
      }
      break;
  }
  constexpr std::array<int64_t, 4> kAround = {600, 5'000, 50'000, 1'000'000};
  const int64_t around = random_.Pick(kAround);
  moment += Micros(random_.Between(-around, around / 2));
  return std::clamp(moment, Micros(0), schedule.faults_end);
}

// When a fault strikes that is to matter at `moment`: then; or so that it brings the data of that
// time back, or sets the clock beyond it.
Micros Search::StrikeAround(const Fault& fault, Micros moment) {
  if (random_.OneIn(2)) return moment;
  if (fault.kind == FaultKind::kNodeClockNudged) {
    return std::max(moment - Micros(random_.Between(0, fault.duration.count())), Micros(0));
  }
  return moment + AgeOfData(fault).value_or(Micros(0));
}

void Search::MutateOnce(const Pioneer& pioneer, Schedule& schedule) {
  std::vector<Fault>& faults = schedule.faults;
  const uint64_t way = faults.empty() ? random_.Below(2) : random_.Below(11);
  Fault* const fault = faults.empty() ? nullptr : &faults[random_.Below(faults.size())];
  switch (way) {
    case 0: {  // Other messages overtake each other,
      schedule.order_from = PickMoment(pioneer, schedule);
      schedule.order.clear();
      for (int64_t left = random_.Between(2, kOrderMax); left > 0; --left) {
        schedule.order += random_.Pick(kOrderDigits);
      }
      return;
    }
    case 1:
    case 2:
    case 10: {  // another fault comes,
      Fault added = DrawFault(schedule, random_);
      added.at = StrikeAround(added, PickMoment(pioneer, schedule));
      if (fault && random_.OneIn(2)) added.target = fault->target;
      if (faults.size() < kFaultsMax) faults.push_back(added);
      return;
    }
    case 3: {  // the same once more,
      Fault again = *fault;
      again.at = StrikeAround(again, PickMoment(pioneer, schedule));
      if (faults.size() < kFaultsMax) faults.push_back(again);
      return;
    }
    case 4:
    case 5:  // at another time,
      fault->at = StrikeAround(*fault, PickMoment(pioneer, schedule));
      return;
    case 6: {  // ending at another time,
      const Micros end = PickMoment(pioneer, schedule);
      if (end > fault->at + Micros(1'000)) fault->duration = end - fault->at;
      return;
    }
    case 7:  // somewhere else,
      fault->target = static_cast<uint32_t>(random_.Below(1000));
      return;
    case 8:  // of another kind,
      fault->kind = DrawFault(schedule, random_).kind;
      return;
    default:  // or not at all.
      faults.erase(faults.begin() + (fault - faults.data()));
      return;
  }
}

Schedule Search::Mutate(const Pioneer& pioneer) {
  Schedule schedule = pioneer.schedule;
  const int64_t times = random_.Between(1, 3);
  for (int64_t i = 0; i < times; ++i) MutateOnce(pioneer, schedule);
  LimitLosses(schedule);
  Normalize(schedule);
  return schedule;
}

}  // namespace lockkeeper::simulation
