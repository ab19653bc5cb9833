// SPDX-License-Identifier: Apache-2.0
#include "simulation/coverage.h"

#include <utility>

#include "support/manual_clock.h"

namespace lockkeeper::simulation {
namespace {

using core::Instant;
using core::Micros;

// A fault matters to what happens within this.
constexpr Micros kAftermath{2'500'000};
// More of one kind teach nothing.
constexpr size_t kEdgesMax = 60;

Micros SinceStart(Instant time) {
  return std::chrono::duration_cast<Micros>(time - support::ManualClock().Now());
}

// One number for some small ones.
template <typename... Parts>
uint64_t Mix(Parts... parts) {
  uint64_t mixed = 0xcbf29ce484222325;
  ((mixed = (mixed ^ static_cast<uint64_t>(parts)) * 0x100000001b3), ...);
  return mixed;
}

// How far off an end is: long over, just over, soon, later.
int Distance(Instant end, Instant now) {
  constexpr Micros kClose{20'000};
  if (now < end) return now + kClose < end ? 3 : 2;
  return now < end + kClose ? 1 : 0;
}

}  // namespace

void Coverage::See(uint64_t what, Instant now) {
  if (seen_.insert(what).second) sights_.push_back({what, SinceStart(now)});
}

void Coverage::Operation(const std::string& lock, int call, const std::string& daemon,
                         Instant now) {
  Lock& at = locks_[lock];
  const int distance = Distance(at.end, now);
  const int quarantine = now < quarantine_end_ ? 1 : 0;
  const bool same_daemon = std::exchange(at.last_daemon, daemon) == daemon;
  const int last_call = std::exchange(at.last_call, call);
  std::array<int, 2> recent{};
  for (size_t i = 0; i < recent.size(); ++i) {
    if (strikes_[i].kind != 0 && now < strikes_[i].at + kAftermath) recent[i] = strikes_[i].kind;
  }
  See(Mix(1, at.state, distance, call, recent[0]), now);
  See(Mix(2, call, recent[0], recent[1]), now);
  See(Mix(3, last_call, call, same_daemon, distance, quarantine), now);
}

void Coverage::Record(const std::string& lock, char state, Instant end) {
  Lock& at = locks_[lock];
  at.state = state;
  at.end = end;
}

void Coverage::Struck(int kind, Instant now) {
  if (strikes_[0].kind != kind + 1) strikes_[1] = strikes_[0];
  strikes_[0] = {kind + 1, now};
}

void Coverage::Ends(Edge edge, Instant at) {
  if (edge == Edge::kQuarantine) quarantine_end_ = at;
  std::vector<Micros>& known = edges_[static_cast<size_t>(edge)];
  if (known.size() < kEdgesMax) known.push_back(SinceStart(at));
}

}  // namespace lockkeeper::simulation
