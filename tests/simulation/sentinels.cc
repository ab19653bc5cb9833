// SPDX-License-Identifier: Apache-2.0
#include "simulation/sentinels.h"

#include <algorithm>
#include <string>
#include <utility>

namespace lockkeeper::simulation {
namespace {

using core::Instant;

constexpr int64_t kToldWithin = 2'000'000;
constexpr int64_t kDelayMin = 50;
constexpr int64_t kDelayMax = 3'000;

redis::ServerAddress AddressOf(size_t server) {
  return {.host = "server", .port = static_cast<uint16_t>(server)};
}

}  // namespace

void Sentinels::Promoted(support::Random random) {
  ++failovers_;
  const size_t leader = random.Below(kSentinels);
  // The others at once, or with its next message if that one is lost: often as late as can be.
  const bool at_once = random.OneIn(3);
  const int64_t earliest = at_once || random.OneIn(2) ? 0 : kToldWithin - kToldWithin / 20;
  const int64_t latest = at_once ? kDelayMax : kToldWithin;
  for (size_t i = 0; i < kSentinels; ++i) {
    known_at_[i] = clock_.Now() + Micros(i == leader ? 0 : random.Between(earliest, latest));
  }
}

void Sentinels::CutOff(uint64_t daemon, size_t sentinel, Instant from, Instant until) {
  cuts_.push_back({daemon, sentinel, from, until});
}

bool Sentinels::IsReached(uint64_t daemon, size_t sentinel) const {
  return std::ranges::none_of(cuts_, [&](const Cut& cut) {
    return cut.daemon == daemon && cut.sentinel == sentinel && clock_.Now() >= cut.from &&
           clock_.Now() < cut.until;
  });
}

redis::SentinelView Sentinels::Say(size_t sentinel, Instant asked) const {
  const int64_t epoch = clock_.Now() < known_at_[sentinel] ? failovers_ - 1 : failovers_;
  return {.id = std::to_string(sentinel),
          .primary = AddressOf(static_cast<size_t>(epoch)),
          .config_epoch = epoch,
          .sentinels = kSentinels,
          .asked = asked};
}

PrimaryWatch::PrimaryWatch(const Sentinels& sentinels, uint64_t daemon, size_t server,
                           const core::Clock& clock, support::ManualExecutor& world,
                           Process& process, support::Random random, OnPrimary on_primary)
    : sentinels_(sentinels),
      daemon_(daemon),
      clock_(clock),
      world_(world),
      process_(process),
      random_(random),
      on_primary_(std::move(on_primary)),
      primary_(AddressOf(server)) {
  for (size_t i = 0; i < kSentinels; ++i) views_[i] = sentinels.Say(i, clock.Now());
  const Micros interval = times_.ask_interval;
  timer_ = process_.After(Micros(random_.Between(1, interval.count())), [this] { Tick(); });
}

// Decides even if nobody answers: answers grow old.
void PrimaryWatch::Tick() {
  timer_ = process_.After(times_.ask_interval, [this] { Tick(); });
  AskAll();
  Decide();
}

void PrimaryWatch::AskAll() {
  for (size_t i = 0; i < kSentinels; ++i) Ask(i);
}

void PrimaryWatch::Ask(size_t sentinel) {
  const Instant asked = clock_.Now();
  const auto delay = [this] { return Micros(random_.Between(kDelayMin, kDelayMax)); };
  world_.Later(delay(), [this, sentinel, asked, back = delay()] {
    if (process_.dead() || !sentinels_.IsReached(daemon_, sentinel)) return;
    world_.Later(back, [this, sentinel, view = sentinels_.Say(sentinel, asked)] {
      if (process_.dead()) return;
      process_.Post([this, sentinel, view] {
        if (!views_[sentinel] || view.asked >= views_[sentinel]->asked) views_[sentinel] = view;
        Decide();
      });
    });
  });
}

void PrimaryWatch::Decide() {
  std::vector<redis::SentinelView> views;
  for (const auto& view : views_) {
    if (view) views.push_back(*view);
  }
  const redis::Election election = elections_.Hold(views, clock_.Now(), primary_);
  if (election.primary == primary_) return;
  primary_ = election.primary;
  on_primary_(primary_ ? std::optional<size_t>(primary_->port) : std::nullopt);
}

}  // namespace lockkeeper::simulation
