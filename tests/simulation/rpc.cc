// SPDX-License-Identifier: Apache-2.0
#include "simulation/rpc.h"

#include <utility>

namespace lockkeeper::simulation {

using core::Micros;

void Rpc::SetDaemon(size_t index, Daemon* daemon) {
  if (daemons_.size() <= index) {
    daemons_.resize(index + 1);
    open_.resize(index + 1);
  }
  daemons_[index] = daemon;
}

CallPtr Rpc::NewCall() {
  auto call = std::make_shared<Call>();
  call->id = next_call_++;
  judge_.CallAsked(call->id);
  return call;
}

void Rpc::Cancel(size_t index, const CallPtr& call) {
  executor_.Later(Delay(), [this, index, call] {
    if (call->answered) return;
    // A cancelled call may be answered or not: nobody listens.
    judge_.CallGone(call->id);
    open_[index].erase(call->id);
    if (daemons_[index] != nullptr) daemons_[index]->Cancel(call);
  });
}

void Rpc::FailCallsOf(size_t index) {
  for (auto& [id, open] : std::exchange(open_[index], {})) {
    judge_.CallGone(id);
    executor_.Later(Delay(), std::move(open.fail));
  }
}

void Rpc::SlowDown(Micros most, Micros duration) {
  slow_most_ = most;
  slow_until_ = clock_.Now() + duration;
}

Micros Rpc::Delay() {
  Micros delay(random_.Between(50, 2'000));
  if (clock_.Now() < slow_until_) delay += Micros(random_.Between(0, slow_most_.count()));
  return order_.Next(delay);
}

}  // namespace lockkeeper::simulation
