// SPDX-License-Identifier: Apache-2.0
#include "simulation/link.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/errors.h"

namespace lockkeeper::simulation {

using core::Instant;
using core::Micros;

Micros Link::Delay() {
  Micros delay(random_.Between(kDelayMin, kDelayMax));
  if (clock_.Now() < slow_until_) delay += Micros(random_.Between(0, slow_most_.count()));
  return order_ ? order_->Next(delay) : delay;
}

void Link::Submit(size_t place, RequestPtr request) {
  if (away()) {
    return Fail(request, core::Error(core::ErrorReason::kStoreUnavailable, "the node is away"));
  }
  Connection& at = connections_[place];
  request->connection = at.number;
  request->reply_lost = clock_.Now() < replies_lost_until_;
  at.open.push_back(request);
  at.last_arrival = std::max(at.last_arrival, clock_.Now() + Delay());
  At(at.last_arrival, [this, place, request] { Arrive(place, request); });
  const uint64_t connection = at.number;
  if (request->reply_lost || clock_.Now() < slow_until_) {
    At(clock_.Now() + kReplyTimeout, [this, place, request, connection] {
      if (!request->finished && connections_[place].number == connection) Break(place);
    });
  }
}

void Link::Arrive(size_t place, const RequestPtr& request) {
  if (request->lost || !Execute(*request)) return;
  request->executed = true;
  if (request->reply_lost || request->connection != connections_[place].number) return;
  Connection& at = connections_[place];
  at.last_reply = std::max(at.last_reply, clock_.Now() + Delay());
  At(at.last_reply, [this, place, request] { Reply(place, request); });
}

void Link::Reply(size_t place, const RequestPtr& request) {
  if (request->connection != connections_[place].number) return;
  auto& open = connections_[place].open;
  open.erase(std::find(open.begin(), open.end(), request));
  if (!request->finished) OnReply(place, request);
}

// Everything open on the connection is without an answer; half of what has not arrived never will.
void Link::Break(size_t place) {
  Connection& at = connections_[place];
  ++at.number;
  at.last_arrival = clock_.Now();
  at.last_reply = clock_.Now();
  for (const RequestPtr& request : std::exchange(at.open, {})) {
    if (!request->executed && random_.OneIn(2)) request->lost = true;
    broken_off_.push_back(request);
    if (!orphan_) {
      Fail(request, core::Error(core::ErrorReason::kOutcomeUnknown, "the connection broke"));
    }
  }
}

void Link::Orphan() {
  orphan_ = true;
  for (size_t place = 0; place < connections_.size(); ++place) Break(place);
}

void Link::Cut(Micros duration) {
  away_until_ = std::max(away_until_, clock_.Now() + duration);
  for (size_t place = 0; place < connections_.size(); ++place) Break(place);
}

void Link::ComeBackAfter(Micros duration) {
  away_until_ = clock_.Now() + duration;
  for (size_t place = 0; place < connections_.size(); ++place) Break(place);
}

void Link::Strike(const Fault& fault) {
  switch (fault.kind) {
    case FaultKind::kStoreCut:
      return Cut(fault.duration);
    case FaultKind::kStoreSlow:
      slow_most_ = fault.duration;
      slow_until_ = clock_.Now() + fault.duration;
      return;
    case FaultKind::kStoreReplyLost:
      replies_lost_until_ = clock_.Now() + fault.duration;
      return;
    default:
      return;
  }
}

void Link::At(Instant time, core::Task task) {
  world_.Later(std::chrono::ceil<Micros>(time - clock_.Now()), std::move(task));
}

}  // namespace lockkeeper::simulation
