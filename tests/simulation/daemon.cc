// SPDX-License-Identifier: Apache-2.0
#include "simulation/daemon.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>

#include "simulation/acquire_answer.h"
#include "support/guard_options.h"
#include "support/trusting_guard.h"

namespace lockkeeper::simulation {
namespace {

Try TryOf(const std::string& name, const core::LeaseId& lease_id, const core::Keeper& keeper) {
  return {name, std::string(lease_id.digits()), std::string(keeper.digits())};
}

}  // namespace

class Daemon::Observer final : public core::LockObserver {
 public:
  explicit Observer(const World& world) : world_(world) {}

  void OnWithdrawalEnded(std::string_view, core::WithdrawalEnd) override {}
  // The order of a line that Redis keeps is seen there.
  void OnWaitBegan(const core::AcquireRequest& request, int32_t) override {
    if (world_.memory == nullptr) return;
    const Try& what = waiting_[request.keeper] = TryOf(request);
    world_.judge.StandsHere(what, world_.clock.Now());
  }
  void OnWaitEnded(std::string_view, const core::Keeper& keeper, core::WaitEnd,
                   core::Micros) override {
    if (world_.memory == nullptr) return;
    world_.judge.LeavesHere(waiting_.extract(keeper).mapped(), world_.clock.Now());
  }
  void OnExpiredLeaseReplaced(std::string_view, core::FencingToken) override {}

 private:
  const World world_;
  std::unordered_map<core::Keeper, Try, core::HashOfHexId> waiting_;
};

namespace {

// Trusts the store. The store does no call after its lifetime, as with the guard of a real daemon.
class TrustingGuardWithLifetime final : public support::TrustingGuard {
 public:
  explicit TrustingGuardWithLifetime(support::RedisModel& server) : server_(server) {}

  redis::CallPermit Permit(redis::Route route, core::Millis closes_for) const override {
    redis::CallPermit permit = TrustingGuard::Permit(route, closes_for);
    permit.latest = {server_.clock().Now().micros + core::Micros(kCallLifetime).count()};
    return permit;
  }
  void OnRefused(redis::Route, core::Instant, redis::RefusedFor) override {}  // It was late.

 private:
  support::RedisModel& server_;
};

}  // namespace

Daemon::Daemon(const World& world, uint64_t number, support::Random random)
    : world_(world),
      number_(number),
      id_(core::Hex16(number)),
      process_(world.executor),
      observer_(std::make_unique<Observer>(world)) {
  world.memory == nullptr ? UseRedis(random) : UseMemory(random);
}

void Daemon::UseRedis(support::Random random) {
  auto link = std::make_unique<StoreLink>(
      world_.server, world_.clock, world_.executor, process_, random,
      [this](const auto& server, const auto& words, const auto& reply) {
        world_.watch.Executed(server, id_, words, reply);
      },
      world_.replicas, world_.order);
  redis::RedisStoreOptions options = support::StoreOptionsOf(id_);
  options.record_retention = kRecordRetention;
  options.call_lifetime = kCallLifetime;
  options.first_use_wait = kFirstUseWait;
  options.policy.ceiling_max = kCeilingMax;
  options.restores = world_.restores;
  if (world_.guarded) {
    store_ = std::make_unique<redis::RedisStore>(*link, world_.clock, process_, guard_observer_,
                                                 options);
  } else {
    store_ = std::make_unique<redis::RedisStore>(
        *link, world_.clock, process_, guard_observer_, options,
        std::make_unique<TrustingGuardWithLifetime>(world_.server));
  }
  link_ = std::move(link);
  if (world_.sentinels != nullptr) WatchSentinels(random.Fork());
  domain_ = std::make_unique<core::Domain>(
      store_->locks(), &store_->line(), world_.clock, process_, *observer_,
      core::LockManagerOptions{.call_lifetime = kCallLifetime,
                               .min_assurance = world_.replicas.must_confirm
                                                    ? core::Assurance::kReplicas
                                                    : core::Assurance::kNone});
}

void Daemon::WatchSentinels(support::Random random) {
  primary_watch_ = std::make_unique<PrimaryWatch>(
      *world_.sentinels, number_, world_.servers->size() - 1, world_.clock, world_.executor,
      process_, random, [this](std::optional<size_t> server) {
        if (!server) return redis_link().MoveNowhere();
        redis_link().MoveTo(*(*world_.servers)[*server]);
      });
}

void Daemon::HearOfFailover() {
  process_.Post([this] { primary_watch_->AskAll(); });
}

void Daemon::UseMemory(support::Random random) {
  auto link = std::make_unique<MemoryLink>(*world_.memory, id_, kCallLifetime, world_.clock,
                                           world_.executor, process_, random, world_.order);
  domain_ =
      std::make_unique<core::Domain>(*link, nullptr, world_.clock, process_, *observer_,
                                     core::LockManagerOptions{.call_lifetime = kCallLifetime});
  link_ = std::move(link);
}

Daemon::~Daemon() {
  for (const auto& session : sessions_) session->Forget();
  if (store_ != nullptr) store_->Close();
}

bool Daemon::KnowsMoreThan(const Life& older) const {
  const int64_t epoch = guard().trust().epoch;
  if (epoch != older.epoch) return epoch > older.epoch;
  const std::string_view marker = guard().Permit().marker;
  int64_t known = 0;
  std::from_chars(marker.data() + marker.rfind(' ') + 1, marker.data() + marker.size(), known);
  return known > older.beats;
}

void Daemon::Leave() {
  if (store_ == nullptr) return;
  process_.Post([this] { store_->LeaveRoll(); });
}

void Daemon::Kill() {
  process_.Kill();
  link_->Orphan();
}

void Daemon::Acquire(const CallPtr& call, core::AcquireRequest request,
                     Reply<core::AcquireAnswer> reply) {
  process_.Post([this, call, request = std::move(request), reply = std::move(reply)]() mutable {
    if (call->cancelled) return;
    request.keeper = core::Keeper(number_, next_keeper_++);
    acquires_[call->id] = {request.name, request.lease_id, request.keeper};
    const Try what = simulation::TryOf(request);
    const core::Keeper keeper = request.keeper;
    const int32_t attempt = request.attempt;
    domain_->locks().Acquire(
        std::move(request), [this, call, keeper, attempt, what,
                             reply = std::move(reply)](absl::StatusOr<core::AcquireAnswer> answer) {
          acquires_.erase(call->id);
          const Caller caller = call->cancelled ? Caller::kGone : Caller::kListens;
          TellJudgeOfAnswer(world_.judge, what, caller, answer, world_.clock.Now());
          // As the reactor of the real one: an answer that cannot be delivered is
          // taken back.
          if (call->cancelled && answer.ok()) {
            if (const auto* lease = std::get_if<core::Lease>(&*answer)) {
              domain_->locks().Withdraw(*lease, attempt, keeper);
            }
          }
          call->answered = true;
          reply(std::move(answer));
        });
  });
}

template <typename T>
core::Done<T> Daemon::Answering(const CallPtr& call, Reply<T> reply) {
  return [call, reply = std::move(reply)](absl::StatusOr<T> answer) {
    call->answered = true;
    reply(std::move(answer));
  };
}

void Daemon::Extend(const CallPtr& call, core::ExtendRequest request, Reply<core::Lease> reply) {
  process_.Post([this, call, request = std::move(request), reply = std::move(reply)]() mutable {
    world_.judge.ClaimTried(request.name, std::string(request.lease_id.digits()));
    domain_->locks().Extend(std::move(request), [this, done = Answering(call, std::move(reply))](
                                                    absl::StatusOr<core::Lease> lease) mutable {
      if (lease.ok()) world_.judge.LeaseTold(*lease);
      std::move(done)(std::move(lease));
    });
  });
}

void Daemon::Release(const CallPtr& call, core::ReleaseRequest request,
                     Reply<core::ReleaseAnswer> reply) {
  process_.Post([this, call, request = std::move(request), reply = std::move(reply)]() mutable {
    const Try what = TryOf(request.name, request.lease_id, {});
    domain_->locks().Release(
        std::move(request), [this, what, done = Answering(call, std::move(reply))](
                                absl::StatusOr<core::ReleaseAnswer> answer) mutable {
          if (answer.ok() && answer->released()) {
            world_.judge.ToldReleased(what.lock, what.lease_id, id_);
          }
          if (answer.ok() && answer->not_released == core::NotReleasedReason::kExpired) {
            world_.judge.ToldExpired(what.lock, what.lease_id);
          }
          std::move(done)(std::move(answer));
        });
  });
}

void Daemon::Fence(const CallPtr& call, core::FenceRequest request,
                   Reply<core::FenceAnswer> reply) {
  process_.Post([this, call, request = std::move(request), reply = std::move(reply)]() mutable {
    domain_->locks().Fence(std::move(request), Answering(call, std::move(reply)));
  });
}

void Daemon::Cancel(const CallPtr& call) {
  process_.Post([this, call] {
    call->cancelled = true;
    const auto open = acquires_.find(call->id);
    if (open == acquires_.end()) return;
    const auto& [name, lease_id, keeper] = open->second;
    world_.judge.GivenUp(TryOf(name, lease_id, keeper), world_.clock.Now());
    domain_->locks().Abandon(keeper);
  });
}

void Daemon::EndQuarantine(int64_t epoch) {
  process_.Post([this, epoch] {
    store_->admin().EndQuarantine({.epoch = epoch},
                                  [](const absl::StatusOr<core::EndQuarantineAnswer>&) {});
  });
}

void Daemon::StartDraining() {
  process_.Post([this] {
    draining_ = true;
    domain_->locks().StartDraining();
    for (const auto& session : sessions_) session->StartDraining();
  });
}

std::shared_ptr<SessionServer> Daemon::OpenSession(StreamToClient& stream) {
  std::erase_if(sessions_, [](const auto& session) { return !session->remains(); });
  sessions_.push_back(std::make_shared<SessionServer>(
      SessionServer::World{
          world_.clock, world_.judge, process_, domain_->locks(),
          [this] { return core::Keeper(number_, next_keeper_++); },
          [this] { return core::Keeper::OfHolder((number_ << 32) + next_keeper_++); }},
      stream));
  return sessions_.back();
}

size_t Daemon::remaining_sessions() const {
  return static_cast<size_t>(std::count_if(sessions_.begin(), sessions_.end(),
                                           [](const auto& session) { return session->remains(); }));
}

}  // namespace lockkeeper::simulation
