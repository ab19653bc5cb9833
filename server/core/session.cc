// SPDX-License-Identifier: Apache-2.0
#include "core/session.h"

#include <algorithm>
#include <optional>
#include <string>

#include "core/limits.h"

namespace lockkeeper::core {
namespace {

// How many extensions or releases of one session are in flight at a time. So many fill script
// calls; behind more of them the operations of everybody else would wait.
constexpr size_t kAtOnce = 512;

// By how much a session may take a lease to end later than it does. Most replies take less time
// than this; of a slower one nobody knows from when it is.
constexpr Millis kAnswerTaken{10};

std::string OfferKey(const std::string& name, const LeaseId& lease_id) {
  return std::string(lease_id.digits()) + name;
}

// What an answer has to tell of an operation whose request is gone by then.
template <typename Request>
AnsweredOperation OperationOf(uint64_t id, OperationKind kind, Instant arrived,
                              const Request& request) {
  AnsweredOperation operation{
      .id = id, .kind = kind, .arrived = arrived, .name = request.name, .trace = request.trace};
  if constexpr (requires { request.lease_id; }) operation.lease_id = request.lease_id;
  if constexpr (requires { request.owner; }) {
    operation.owner = request.owner;
    operation.keeper = request.keeper;
  }
  return operation;
}

}  // namespace

// A heartbeat, or a release of all, on its way through the leases.
struct Session::Round {
  Instant began;
  size_t under_way = 0;
  std::vector<SessionLeases::Ref> put_back;
  HeartbeatAnswer answer;
  Done<HeartbeatAnswer> beaten;
  int32_t released = 0;
  Done<int32_t> all_released;
};

void Session::Answer(const AnsweredOperation& operation, absl::StatusOr<SessionAnswer> answer) {
  if (listener_ != nullptr) listener_->OnAnswer(operation, std::move(answer));
}

void Session::Run(SessionOperation operation) {
  std::visit([&](auto& request) { Run(operation.id, std::move(request)); }, operation.request);
}

bool Session::IsFull() {
  return leases_.size() + offers_.size(clock_.Now()) + asked_for_ >= leases_max_;
}

absl::Status Session::Full() const {
  return Error(ErrorReason::kLeaseLimit,
               "a session has at most " + std::to_string(leases_max_) + " leases");
}

void Session::Run(uint64_t id, AcquireRequest request) {
  AnsweredOperation operation = OperationOf(id, OperationKind::kAcquire, clock_.Now(), request);
  if (IsFull()) return Answer(operation, Full());
  if (request.wait_timeout > Millis(0) && !waiting_.emplace(id, Waiting{request.keeper}).second) {
    return Answer(operation, InvalidField("id", "is that of an acquire that still waits"));
  }
  ++asked_for_;
  const int32_t attempt = request.attempt;
  if (request.wait_timeout > Millis(0)) {
    return locks_.Acquire(std::move(request),
                          [self = shared_from_this(), operation = std::move(operation),
                           attempt](absl::StatusOr<AcquireAnswer> answer) {
                            self->OnWaited(operation, attempt, std::move(answer));
                          });
  }
  const Keeper keeper = request.keeper;
  locks_.Acquire(std::move(request), [self = shared_from_this(), operation = std::move(operation),
                                      attempt, keeper](absl::StatusOr<AcquireAnswer> answer) {
    self->OnAcquired(operation, attempt, keeper, std::move(answer));
  });
}

void Session::OnWaited(const AnsweredOperation& operation, int32_t attempt,
                       absl::StatusOr<AcquireAnswer> answer) {
  const Waiting waited = waiting_.extract(operation.id).mapped();
  Contention* const contention = answer.ok() ? std::get_if<Contention>(&*answer) : nullptr;
  if (waited.cancelled && contention != nullptr) contention->reason = ContentionReason::kCancelled;
  OnAcquired(operation, attempt, waited.keeper, std::move(answer));
}

void Session::OnAcquired(const AnsweredOperation& operation, int32_t attempt, const Keeper& keeper,
                         absl::StatusOr<AcquireAnswer> answer) {
  --asked_for_;
  if (!answer.ok()) return Answer(operation, answer.status());
  if (Lease* lease = std::get_if<Lease>(&*answer)) {
    if (listener_ == nullptr) return locks_.Withdraw(*lease, attempt, keeper);
    if (lease->offered) {
      if (count_) {
        count_->Granted(lease->name, lease->lease_id, CountedEndOf(*lease), clock_.Now());
      }
      offers_.Put(OfferKey(lease->name, lease->lease_id), keeper, clock_.Now());
    } else {
      Keep(*lease, operation.arrived, keeper);
    }
  }
  Answer(operation, SessionAnswer(*std::move(answer)));
}

void Session::Run(uint64_t id, ExtendRequest request) {
  AnsweredOperation operation = OperationOf(id, OperationKind::kExtend, clock_.Now(), request);
  locks_.Extend(std::move(request), [self = shared_from_this(), operation = std::move(operation)](
                                        absl::StatusOr<Lease> lease) mutable {
    self->OnExtended(std::move(operation), std::move(lease));
  });
}

void Session::OnExtended(AnsweredOperation operation, absl::StatusOr<Lease> lease) {
  const std::string& name = operation.name;
  const LeaseId& lease_id = *operation.lease_id;
  const SessionLeases::Held* const held = leases_.Find(name, lease_id);
  if (lease.ok()) {
    const std::optional<Keeper> keeper =
        held != nullptr ? held->keeper : offers_.Take(OfferKey(name, lease_id), clock_.Now());
    if (keeper && listener_ != nullptr) {
      Keep(*lease, operation.arrived, *keeper);
    } else {
      CountExtended(*lease);
    }
    return Answer(operation, SessionAnswer(*std::move(lease)));
  }
  if (ReasonOf(lease.status()) == ErrorReason::kLeaseLost) {
    if (held != nullptr) operation.token = held->token;
    const auto dropped = leases_.FoundEnded(name, lease_id);
    CountEnded(name, lease_id, listener_ != nullptr ? dropped : std::nullopt);
    offers_.Take(OfferKey(name, lease_id), clock_.Now());
  }
  Answer(operation, lease.status());
}

void Session::Run(uint64_t id, ReleaseRequest request) {
  AnsweredOperation operation = OperationOf(id, OperationKind::kRelease, clock_.Now(), request);
  // At once: its client gives the lease or the offer up, whatever comes of the release.
  const std::optional<SessionLeases::Dropped> dropped = Drop(request.name, request.lease_id);
  locks_.Release(std::move(request), [self = shared_from_this(), operation = std::move(operation),
                                      dropped](absl::StatusOr<ReleaseAnswer> answer) {
    const std::string& name = operation.name;
    const LeaseId& lease_id = *operation.lease_id;
    if (answer.ok()) {
      self->CountEnded(name, lease_id, dropped);
    } else if (dropped) {
      self->CountLeft(name, lease_id, *dropped);
    }
    if (!answer.ok()) return self->Answer(operation, answer.status());
    self->Answer(operation, SessionAnswer(*answer));
  });
}

void Session::Run(uint64_t id, FenceRequest request) {
  AnsweredOperation operation = OperationOf(id, OperationKind::kFence, clock_.Now(), request);
  locks_.Fence(std::move(request), [self = shared_from_this(), operation = std::move(operation)](
                                       absl::StatusOr<FenceAnswer> answer) {
    if (!answer.ok()) return self->Answer(operation, answer.status());
    self->Answer(operation, SessionAnswer(*answer));
  });
}

void Session::Keep(const Lease& lease, Instant asked, const Keeper& keeper) {
  const SessionLeases::Ref held =
      leases_.Keep(lease.name, lease.lease_id, lease.token, keeper, lease.ttl, EndOf(lease, asked));
  if (held->counts) {
    CountExtended(lease);
  } else {
    CountKept(*held, CountedEndOf(lease));
  }
}

Instant Session::EndOf(const Lease& lease, Instant asked) const {
  return std::min<Instant>(clock_.Now(), asked + kAnswerTaken) + lease.remaining_ttl;
}

Instant Session::CountedEndOf(const Lease& lease) const {
  return clock_.Now() + lease.remaining_ttl;
}

void Session::Cancel(uint64_t operation_id) {
  const auto waiting = waiting_.find(operation_id);
  if (waiting == waiting_.end()) return;
  waiting->second.cancelled = true;
  locks_.Abandon(waiting->second.keeper);
}

void Session::Adopt(ExtendRequest request, Done<Lease> done) {
  const bool is_kept = leases_.Find(request.name, request.lease_id) != nullptr;
  if (!is_kept && IsFull()) return std::move(done)(Full());
  const FencingToken token = request.token;
  const Keeper keeper = *request.keeper;
  ++asked_for_;
  locks_.Extend(std::move(request), [self = shared_from_this(), token, keeper, asked = clock_.Now(),
                                     done = std::move(done)](absl::StatusOr<Lease> lease) mutable {
    --self->asked_for_;
    if (lease.ok()) self->CountExtended(*lease);
    if (self->listener_ == nullptr) return;
    if (lease.ok() && lease->token != token) {
      lease = Error(ErrorReason::kLeaseLost, "this lease id has another fencing token");
    }
    if (lease.ok()) self->Keep(*lease, asked, keeper);
    std::move(done)(std::move(lease));
  });
}

void Session::Forget(const std::string& name, const LeaseId& lease_id) {
  const std::optional<SessionLeases::Dropped> dropped = Drop(name, lease_id);
  if (dropped) CountLeft(name, lease_id, *dropped);
}

std::optional<SessionLeases::Dropped> Session::Drop(const std::string& name,
                                                    const LeaseId& lease_id) {
  const std::optional<SessionLeases::Dropped> dropped = leases_.Drop(name, lease_id);
  if (!dropped) offers_.Take(OfferKey(name, lease_id), clock_.Now());
  return dropped;
}

void Session::CountKept(SessionLeases::Held& held, Instant end) {
  if (count_ != nullptr) held.counts = count_->Kept(held.name, held.lease_id, end);
}

void Session::CountLeft(const std::string& name, const LeaseId& lease_id,
                        const SessionLeases::Dropped& dropped) {
  if (count_ == nullptr) return;
  if (dropped.counts) {
    count_->Left(name, lease_id, dropped.end, clock_.Now());
  } else {
    count_->Granted(name, lease_id, dropped.end, clock_.Now());
  }
}

void Session::CountExtended(const Lease& lease) {
  if (count_ != nullptr) count_->Extended(lease.name, lease.lease_id, CountedEndOf(lease));
}

void Session::CountEnded(const std::string& name, const LeaseId& lease_id,
                         const std::optional<SessionLeases::Dropped>& dropped) {
  if (count_ == nullptr) return;
  count_->Ended(name, lease_id);
  if (dropped && dropped->counts) count_->Left(name, lease_id, dropped->end, clock_.Now());
}

void Session::Heartbeat(Done<HeartbeatAnswer> done) {
  auto round = std::make_shared<Round>();
  round->began = clock_.Now();
  round->beaten = std::move(done);
  ExtendNext(round);
}

void Session::ExtendNext(const std::shared_ptr<Round>& round) {
  while (listener_ != nullptr && round->under_way < kAtOnce) {
    const std::optional<SessionLeases::Ref> due = leases_.NextDue(round->began);
    if (!due) break;
    ++round->under_way;
    ExtendRequest request;
    request.name = (*due)->name;
    request.lease_id = (*due)->lease_id;
    request.ttl = (*due)->ttl;
    request.principal = principal_;
    request.deadline = Instant::max();
    request.is_heartbeat = true;
    locks_.Extend(std::move(request), [self = shared_from_this(), round, held = *due,
                                       asked = clock_.Now()](absl::StatusOr<Lease> lease) {
      --round->under_way;
      if (lease.ok() && !lease->reassertion.empty() && !held->dropped) {
        round->answer.proofs.push_back({held->lease_id, lease->reassertion});
      }
      if (lease.ok() && lease->remaining_ttl < lease->ttl) {
        self->CountExtended(*lease);
        lease = Error(ErrorReason::kLeaseLimit, "it is at its max_hold");
      }
      if (lease.ok()) {
        self->ExtendedNow(held, *lease, asked);
      } else {
        self->NotExtendedNow(*round, held, lease.status());
      }
      self->ExtendNext(round);
    });
  }
  if (round->under_way > 0 || !round->beaten) return;
  for (const SessionLeases::Ref held : round->put_back) leases_.NotExtended(held);
  auto done = std::exchange(round->beaten, nullptr);
  if (listener_ != nullptr) std::move(done)(std::move(round->answer));
}

void Session::ExtendedNow(SessionLeases::Ref held, const Lease& lease, Instant asked) {
  const bool is_kept = !held->dropped && listener_ != nullptr;
  if (!is_kept) {
    CountExtended(lease);
  } else if (!held->counts) {
    CountKept(*held, CountedEndOf(lease));
  }
  leases_.Extended(held, lease.ttl, EndOf(lease, asked));
}

void Session::NotExtendedNow(Round& round, SessionLeases::Ref held, const absl::Status& status) {
  const ErrorReason reason = ReasonOf(status).value_or(ErrorReason::kInvariantViolated);
  // Dropped: the client has released it meanwhile, or the session keeps it anew.
  if (!held->dropped) {
    round.answer.not_extended.push_back({held->name, held->lease_id, reason, held->token});
  }
  if (reason == ErrorReason::kLeaseLost) {
    const bool is_kept = !held->dropped && listener_ != nullptr;
    CountEnded(held->name, held->lease_id,
               is_kept ? std::optional(SessionLeases::Dropped(*held)) : std::nullopt);
    leases_.Ended(held);
  } else {
    round.put_back.push_back(held);
  }
}

void Session::ReleaseAll(Done<int32_t> done) {
  auto round = std::make_shared<Round>();
  round->all_released = std::move(done);
  ReleaseNext(round);
}

void Session::ReleaseNext(const std::shared_ptr<Round>& round) {
  while (listener_ != nullptr && round->under_way < kAtOnce) {
    std::optional<SessionLeases::Held> held = leases_.TakeAny();
    if (!held) break;
    ++round->under_way;
    locks_.ReleaseKept(
        held->name, held->lease_id, held->keeper,
        [self = shared_from_this(), round, held = *held](absl::StatusOr<WithdrawResult> result) {
          --round->under_way;
          const SessionLeases::Dropped dropped(held);
          if (result.ok() && *result != WithdrawResult::kKept) {
            self->CountEnded(held.name, held.lease_id, dropped);
          } else {
            self->CountLeft(held.name, held.lease_id, dropped);
          }
          if (result.ok() && *result == WithdrawResult::kWithdrawn) {
            ++round->released;
            if (self->listener_ != nullptr) {
              self->listener_->OnKeptReleased(held.name, held.token);
            }
          }
          self->ReleaseNext(round);
        });
  }
  if (round->under_way > 0 || !round->all_released) return;
  auto done = std::exchange(round->all_released, nullptr);
  if (listener_ != nullptr) std::move(done)(round->released);
}

void Session::Break() {
  leases_.ForEach([this](const SessionLeases::Held& held) {
    CountLeft(held.name, held.lease_id, SessionLeases::Dropped(held));
  });
  listener_ = nullptr;
  LeaveLines();
}

void Session::LeaveLines() {
  // Abandon may answer at once, which changes waiting_.
  std::vector<uint64_t> operations;
  operations.reserve(waiting_.size());
  for (const auto& [id, waiting] : waiting_) operations.push_back(id);
  for (const uint64_t id : operations) Cancel(id);
}

}  // namespace lockkeeper::core
