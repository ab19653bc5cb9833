// SPDX-License-Identifier: Apache-2.0
#include "histories/actor.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "core/types.h"
#include "support/clock/boot_nanos.h"
#include "support/rpc/error_reason.h"
#include "support/rpc/lock_requests.h"

namespace lockkeeper::histories {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kTtls[] = {milliseconds(200), milliseconds(500), milliseconds(1'000),
                                  milliseconds(2'000)};
constexpr milliseconds kWaits[] = {milliseconds(100), milliseconds(400), milliseconds(1'500)};
constexpr milliseconds kGrace{1'000};  // Of a deadline, beyond the wait.
constexpr milliseconds kAfterRefusal{60};
constexpr int kTries = 4;

// What says for certain that the operation has had no effect, and will have none.
constexpr const char* kDefinite[] = {"LEASE_LOST",        "LEASE_ENDED",     "STORE_UNAVAILABLE",
                                     "STORE_QUARANTINED", "SERVER_DRAINING", "WAITER_LIMIT",
                                     "LEASE_LIMIT",       "RATE_LIMIT"};

int64_t MicrosOf(const google::protobuf::Duration& duration) {
  return duration.seconds() * 1'000'000 + duration.nanos() / 1'000;
}

// "VERDICT_ADMITTED" to "ADMITTED".
std::string Without(const std::string& prefix, const std::string& name) {
  return name.substr(prefix.size());
}

Answered GrantOf(const v1::Lease& lease) {
  return {.token = lease.fencing_token(),
          .left_us = MicrosOf(lease.remaining_ttl()),
          .offered = lease.offered()};
}

}  // namespace

Actor::Actor(ActorOptions options, Journal& journal)
    : options_(std::move(options)), journal_(journal), random_(options_.seed) {
  daemons_.resize(options_.daemons.size());
  at_ = random_.Below(daemons_.size());
  for (at_ = 0; at_ < daemons_.size(); ++at_) Reconnect();
  GoElsewhere();
}

void Actor::GoElsewhere() { at_ = random_.Below(daemons_.size()); }

void Actor::Reconnect() {
  const std::string& address = options_.daemons[at_];
  daemons_[at_] = random_.OneIn(3) ? SessionCalls(address) : UnaryCalls(address);
}

void Actor::Rest(milliseconds longest) {
  std::this_thread::sleep_for(
      std::chrono::microseconds(random_.Below(static_cast<uint64_t>(longest.count()) * 1'000 + 1)));
}

std::string Actor::NewId() { return core::Hex16(random_.Bits()) + core::Hex16(random_.Bits()); }

int Actor::Begin(Asked asked) {
  asked.session = daemons_[at_]->IsSession();
  return journal_.Begin(options_.name, asked);
}

template <typename Response>
Actor::Outcome Actor::End(int operation, const Answer<Response>& answer, Answered answered) {
  const bool definite = std::ranges::find(kDefinite, answer.reason) != std::end(kDefinite);
  if (!answer.ok()) {
    answered = {.outcome = definite ? "fail" : "unknown",
                .reason = answer.reason == support::kNoDetails
                              ? "code " + std::to_string(answer.status.error_code())
                              : answer.reason};
  } else if (answered.outcome.empty()) {
    answered.outcome = "ok";
  }
  journal_.End(options_.name, operation, answered);
  if (answer.ok()) return Outcome::kOk;
  Rest(kAfterRefusal);
  if (definite) return Outcome::kFailed;
  Reconnect();
  return Outcome::kUnknown;
}

Actor::Grant Actor::Acquire(Lease& lease, milliseconds wait, bool confirm) {
  v1::AcquireRequest request = support::AcquireOf(lease.lock, lease.id, lease.ttl);
  request.set_attempt(++lease.attempt);
  request.set_owner(lease.id);
  request.set_confirm(confirm);
  request.mutable_wait_timeout()->set_nanos(static_cast<int32_t>(wait.count() % 1'000 * 1'000'000));
  request.mutable_wait_timeout()->set_seconds(wait.count() / 1'000);
  milliseconds deadline = wait + kGrace;
  if (random_.OneIn(10)) deadline = milliseconds(1 + random_.Below(30));  // It gives up at once.
  const int operation =
      Begin({.kind = "acquire", .lock = lease.lock, .lease = lease.id, .attempt = lease.attempt});
  const auto answer = daemons_[at_]->Acquire(request, deadline);
  Answered answered;
  if (answer.response.has_lease()) {
    answered = GrantOf(answer.response.lease());
  } else {
    const v1::Contention& contention = answer.response.contention();
    answered = {
        .outcome = "fail",
        .reason = Without("CONTENTION_REASON_", v1::ContentionReason_Name(contention.reason())),
        .holder = contention.holder_owner()};
  }
  const Outcome outcome = End(operation, answer, answered);
  if (outcome == Outcome::kUnknown) return Grant::kUnknown;
  if (!answer.response.has_lease()) return Grant::kNo;
  lease.token = answered.token;
  lease.proof = answer.response.lease().reassertion();
  return answered.offered ? Grant::kOffered : Grant::kYes;
}

bool Actor::AcquireWithRetries(Lease& lease) {
  const bool waits = random_.OneIn(6);
  const milliseconds wait = waits ? random_.Pick(kWaits) : milliseconds(0);
  const bool confirm = waits && random_.OneIn(2);
  Grant grant = Acquire(lease, wait, confirm);
  for (int i = 0; i < kTries && grant == Grant::kUnknown; ++i) {
    if (random_.OneIn(8)) return false;  // Its acquire may take effect yet.
    GoElsewhere();
    if (random_.OneIn(2)) {
      Release(lease);
      return false;
    }
    grant = Acquire(lease, wait, confirm);
  }
  if (grant == Grant::kYes) return true;
  if (grant != Grant::kOffered) return false;
  if (random_.OneIn(12)) return false;               // Never claims it.
  if (random_.OneIn(12)) Rest(milliseconds(4'000));  // Claims it late.
  const Outcome claimed = Extend(lease);
  if (claimed == Outcome::kOk) return true;
  Release(lease);
  return false;
}

Actor::Outcome Actor::Extend(Lease& lease) {
  v1::ExtendRequest request = support::ExtendOf(lease.lock, lease.id);
  request.set_fencing_token(lease.token);
  request.set_reassertion(lease.proof);
  const int operation = Begin({.kind = "extend", .lock = lease.lock, .lease = lease.id});
  const auto answer = daemons_[at_]->Extend(request);
  const v1::Lease& extended = answer.response.lease();
  if (answer.ok()) lease.token = extended.fencing_token();
  if (!extended.reassertion().empty()) lease.proof = extended.reassertion();
  return End(operation, answer, GrantOf(extended));
}

Actor::Outcome Actor::Heartbeat(const Lease& lease) {
  const int operation = Begin({.kind = "extend", .lock = lease.lock, .lease = lease.id});
  const auto answer = daemons_[at_]->Heartbeat(lease.id);
  // A heartbeat tells neither, but promises as much.
  return End(operation, answer,
             {.token = lease.token, .left_us = lease.ttl.count() * 1'000 * 2 / 3});
}

void Actor::Release(const Lease& lease) {
  for (int i = 0; i < kTries; ++i) {
    const int operation = Begin({.kind = "release", .lock = lease.lock, .lease = lease.id});
    const auto answer = daemons_[at_]->Release(support::ReleaseOf(lease.lock, lease.id));
    Answered answered;
    if (!answer.response.released()) {
      answered.reason =
          Without("NOT_RELEASED_REASON_", v1::NotReleasedReason_Name(answer.response.reason()));
    }
    const Outcome outcome = End(operation, answer, answered);
    if (outcome == Outcome::kOk && !random_.OneIn(16)) return;
    if (outcome == Outcome::kUnknown && random_.OneIn(8)) return;
    GoElsewhere();
  }
}

void Actor::Fence(const std::string& lock, int64_t token) {
  v1::FenceRequest request = support::FenceOf(lock, token);
  request.set_require_live_lease(random_.OneIn(2));
  const int operation =
      Begin({.kind = "fence", .lock = lock, .token = token, .live = request.require_live_lease()});
  const auto answer = daemons_[at_]->Fence(request);
  End(operation, answer,
      {.reason = Without("VERDICT_", v1::Verdict_Name(answer.response.verdict()))});
}

void Actor::FenceAnyToken(const std::string& lock) {
  if (tokens_of_ == lock && !tokens_.empty()) Fence(lock, random_.Pick(tokens_));
}

bool Actor::Use(Lease& lease) {
  switch (random_.Below(12)) {
    case 0:
    case 1:
    case 2:
      return Extend(lease) != Outcome::kFailed;
    case 3:
    case 4:
      return !daemons_[at_]->KeepsByHeartbeat(lease.id) || Heartbeat(lease) != Outcome::kFailed;
    case 5:
      GoElsewhere();
      return Acquire(lease, {}, false) == Grant::kYes;
    case 6:
    case 7:
      Fence(lease.lock, lease.token);
      return true;
    case 8:
      FenceAnyToken(lease.lock);
      return true;
    case 9:
      if (random_.OneIn(6)) Rest(lease.ttl * 2);  // Beyond its end.
      return true;
    default:
      Rest(lease.ttl / 16);
      return true;
  }
}

void Actor::Cycle() {
  const int64_t round = (support::BootNanos() - options_.began) / options_.round.count();
  Lease lease{.lock = "lock" +
                      std::to_string(random_.Below(static_cast<uint64_t>(options_.locks))) + "-" +
                      std::to_string(round),
              .id = NewId(),
              .ttl = random_.Pick(kTtls)};
  if (random_.OneIn(4)) GoElsewhere();
  if (!AcquireWithRetries(lease)) {
    if (random_.OneIn(4)) FenceAnyToken(lease.lock);
    return;
  }
  if (tokens_of_ != lease.lock || tokens_.size() > 16) tokens_.clear();
  tokens_of_ = lease.lock;
  tokens_.push_back(lease.token);
  bool held = true;
  for (uint64_t uses = random_.Below(10); held && uses > 0; --uses) held = Use(lease);
  if (!random_.OneIn(12)) Release(lease);  // Else it runs out.
}

}  // namespace lockkeeper::histories
