// SPDX-License-Identifier: Apache-2.0
#include "simulation/daemon.h"

#include <utility>
#include <variant>

namespace lockkeeper::simulation {

class Daemon::Observer final : public core::LockObserver {
 public:
  void OnWithdrawalEnded(std::string_view, core::WithdrawalEnd) override {}
  void OnExpiredLeaseReplaced(std::string_view, core::FencingToken) override {}
  void OnInvariantViolated(std::string_view) override {}
};

Daemon::Daemon(const World& world, int index, uint64_t id, support::Random random)
    : world_(world),
      index_(index),
      id_(id),
      process_(world.executor),
      link_(world.server, world.clock, world.executor, process_, random, world.on_executed),
      observer_(std::make_unique<Observer>()) {
  redis::OperationQueueOptions queue_options;
  queue_options.record_retention = core::Millis(2'000);
  queue_ = std::make_unique<redis::OperationQueue>(link_, world.clock, process_, token_floor_,
                                                   queue_options);
  store_ = std::make_unique<redis::RedisLockStore>(
      link_, *queue_, token_floor_, world.clock,
      redis::RedisLockStoreOptions{.daemon_id = core::Hex16(id_)});
  manager_ = std::make_unique<core::LockManager>(*store_, world.clock, process_, *observer_,
                                                 core::LockManagerOptions{});
}

// The queue ends what is open, which the manager has to hear of.
Daemon::~Daemon() { queue_.reset(); }

void Daemon::Kill() {
  process_.Kill();
  link_.Orphan();
}

void Daemon::Acquire(const CallPtr& call, core::AcquireRequest request,
                     Reply<core::AcquireAnswer> reply) {
  process_.Post([this, call, request = std::move(request), reply = std::move(reply)]() mutable {
    if (call->cancelled) return;
    request.keeper = core::Keeper(id_, next_keeper_++);
    acquires_[call->id] = {request.name, request.keeper};
    const core::Keeper keeper = request.keeper;
    const int32_t attempt = request.attempt;
    const auto name = request.name;
    const auto lease_id = request.lease_id;
    manager_->Acquire(std::move(request),
                      [this, call, keeper, attempt, name, lease_id,
                       reply = std::move(reply)](absl::StatusOr<core::AcquireAnswer> answer) {
                        acquires_.erase(call->id);
                        world_.on_answered(name, lease_id);
                        // As the reactor of the real one: an answer that cannot be delivered is
                        // taken back.
                        if (call->cancelled && answer.ok()) {
                          if (const auto* lease = std::get_if<core::Lease>(&*answer)) {
                            manager_->Withdraw(*lease, attempt, keeper);
                          }
                        }
                        call->answered = true;
                        reply(std::move(answer));
                      });
  });
}

void Daemon::Extend(const CallPtr& call, core::ExtendRequest request, Reply<core::Lease> reply) {
  process_.Post([this, call, request = std::move(request), reply = std::move(reply)]() mutable {
    manager_->Extend(std::move(request),
                     [call, reply = std::move(reply)](absl::StatusOr<core::Lease> lease) {
                       call->answered = true;
                       reply(std::move(lease));
                     });
  });
}

void Daemon::Release(const CallPtr& call, core::ReleaseRequest request,
                     Reply<core::ReleaseAnswer> reply) {
  process_.Post([this, call, request = std::move(request), reply = std::move(reply)]() mutable {
    manager_->Release(std::move(request),
                      [call, reply = std::move(reply)](absl::StatusOr<core::ReleaseAnswer> done) {
                        call->answered = true;
                        reply(std::move(done));
                      });
  });
}

void Daemon::Cancel(const CallPtr& call) {
  process_.Post([this, call] {
    call->cancelled = true;
    const auto open = acquires_.find(call->id);
    if (open != acquires_.end()) {
      manager_->Abandon(open->second.name, open->second.keeper);
    }
  });
}

void Daemon::StartDraining() {
  process_.Post([this] { manager_->StartDraining(); });
}

}  // namespace lockkeeper::simulation
