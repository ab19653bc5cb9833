// SPDX-License-Identifier: Apache-2.0
#include "client_core.h"

#include <algorithm>
#include <utility>

#include "held_lease.h"
#include "status_payloads.h"
#include "transport/acquire_operations.h"
#include "transport/convert.h"
#include "transport/tracing.h"

namespace lockkeeper::client {
namespace {

using std::chrono::milliseconds;

// The ttl that is assumed if the grant is not known: the server's default.
constexpr milliseconds kTtlDefault = std::chrono::seconds(30);

// The store keeps a place in line for so long after the last sign of life of its daemon.
constexpr milliseconds kPlaceKept = std::chrono::seconds(30);

AcquireResult NotAcquired(std::string_view name, Contention contention) {
  std::string message = "`" + std::string(name) + "` ";
  switch (contention.reason) {
    case ContentionReason::kHeld:
      message += "is held";
      break;
    case ContentionReason::kClosed:
      message = "nobody holds `" + std::string(name) + "`, but it is closed after its last lease";
      break;
    case ContentionReason::kWaitTimedOut:
      message += contention.holder_owner.empty() ? "did not become free in time" : "is still held";
      break;
    case ContentionReason::kCancelled:
      message += "was not acquired: its lease id was released while it waited";
      break;
  }
  if (!contention.holder_owner.empty() && contention.reason != ContentionReason::kCancelled) {
    message += " by `" + contention.holder_owner + "`";
  }
  if (contention.reason == ContentionReason::kWaitTimedOut && !contention.holder_owner.empty()) {
    message += " at the end of the wait";
  }
  absl::Status status =
      ErrorWithReason(absl::StatusCode::kAborted, ErrorReason::kNotAcquired, message);
  return {std::move(contention), std::move(status)};
}

}  // namespace

double RandomJitter::Next() {
  const std::lock_guard lock(mutex_);
  return std::uniform_real_distribution<double>(0, 1)(generator_);
}

ClientCore::ClientCore(ClientOptions options, std::unique_ptr<Channels> channels)
    : options_(std::move(options)),
      daemons_(std::move(channels), {clock_, timers_, jitter_}, options_.owner,
               options_.on_unserved,
               [this](const std::string& name, const std::string& lease_id) {
                 kept_leases_.Ended(name, lease_id);
               }),
      lease_calls_(daemons_, clock_),
      watch_calls_(daemons_),
      releaser_(clock_, timers_, lease_calls_, jitter_) {}

ClientCore::~ClientCore() {
  releaser_.WaitUntilIdle(options_.release_timeout);
  timers_.Stop();
  daemons_.Close();
}

absl::Status ClientCore::Check(const AcquireOptions& options) {
  if (options.wait_timeout < milliseconds(0)) {
    return InvalidOption("wait_timeout", "must not be negative");
  }
  if (options.stop_margin < milliseconds(0)) {
    return InvalidOption("stop_margin", "must not be negative");
  }
  if (options.ttl && options.stop_margin > StopMarginMax(*options.ttl)) {
    return InvalidOption("stop_margin", "leaves no time to renew a lease of this ttl");
  }
  return absl::OkStatus();
}

AcquireResult ClientCore::Acquire(std::string_view name, const AcquireOptions& options) {
  if (absl::Status status = Check(options); !status.ok()) return AcquireResult(status);
  Duration expires_in = options.ttl.value_or(kTtlDefault);
  if (options.wait_timeout > milliseconds(0)) expires_in += kPlaceKept;

  const TraceContext trace = CallersTrace(options_);
  v1::SessionOperation request;
  *request.mutable_acquire() =
      ToProto(name, options, options.owner.empty() ? options_.owner : options.owner);
  request.mutable_acquire()->set_lease_id(options.lease_id);
  SetTrace(trace, request);
  AcquireOperations calls(call_ports(), std::move(request), options.cancel);
  AcquireEnd end = RunAcquire(calls,
                              {.wait_timeout = options.wait_timeout,
                               .call_timeout = options_.call_timeout,
                               .addresses = static_cast<int>(daemons_.size())},
                              clock_, jitter_);
  const LeaseRef lease{std::string(name), calls.lease_id()};

  auto* granted = end.answer.ok() ? std::get_if<Granted>(&*end.answer) : nullptr;
  if (granted != nullptr) {
    absl::StatusOr<Lease> held = Hold({.granted = std::move(*granted),
                                       .sent = end.sent,
                                       .terms = {.ttl = Duration(0),
                                                 .max_hold = options.max_hold,
                                                 .stop_margin = options.stop_margin},
                                       .extend_ttl = std::nullopt});
    if (held.ok()) return AcquireResult(*std::move(held));
    ReleaseInBackground(lease, trace, expires_in);
    return AcquireResult(held.status());
  }
  if (end.unresolved && options.lease_id.empty()) ReleaseInBackground(lease, trace, expires_in);
  if (!end.answer.ok()) return AcquireResult(end.answer.status());
  return NotAcquired(name, std::get<Contention>(*end.answer));
}

absl::StatusOr<Lease> ClientCore::Hold(Holding holding) {
  holding.terms.ttl = holding.extend_ttl.value_or(holding.granted.grant.ttl);
  if (holding.terms.stop_margin > StopMarginMax(holding.terms.ttl)) {
    return InvalidOption("stop_margin", "leaves no time to renew a lease of the granted ttl");
  }
  const LeaseLife life(holding.terms, holding.sent, holding.granted.remaining_ttl);
  if (life.lost_at() <= clock_.Now()) {
    return absl::DeadlineExceededError("the answer arrived after the lease had ended");
  }
  Grant& grant = holding.granted.grant;
  std::shared_ptr<KeptLease> kept =
      KeptLease::Keep({clock_, timers_, lease_calls_, callbacks_, jitter_},
                      {grant.name, grant.lease_id, grant.fencing_token, grant.reassertion}, life,
                      holding.extend_ttl);
  kept_leases_.Add(kept);
  return Lease(std::make_unique<HeldLease>(shared_from_this(), std::move(grant), std::move(kept)));
}

absl::StatusOr<Lease> ClientCore::Adopt(std::string_view name, std::string_view lease_id,
                                        const AdoptOptions& options) {
  v1::SessionOperation request;
  request.mutable_extend()->set_name(std::string(name));
  request.mutable_extend()->set_lease_id(std::string(lease_id));
  request.mutable_extend()->set_fencing_token(options.fencing_token);
  request.mutable_extend()->set_reassertion(options.reassertion);
  if (options.ttl) *request.mutable_extend()->mutable_ttl() = ToProto(*options.ttl);
  SetTrace(CallersTrace(options_), request);
  const AnsweredRequest answered = RunUntilAnswered(call_ports(), options_.call_timeout, request);
  absl::StatusOr<Granted> extended = ExtendedFrom(answered.answer);
  if (!extended.ok()) return extended.status();
  return Hold({.granted = *std::move(extended),
               .sent = answered.sent,
               .terms = {.stop_margin = options.stop_margin},
               .extend_ttl = options.ttl});
}

absl::StatusOr<ReleaseOutcome> ClientCore::Release(std::string_view name,
                                                   std::string_view lease_id) {
  const Duration timeout = options_.call_timeout;
  const auto pending = releaser_.Release({std::string(name), std::string(lease_id)},
                                         CallersTrace(options_), clock_.Now() + timeout);
  return pending->WaitOrExplain(timeout + kReleaseTryTimeout);
}

absl::StatusOr<FenceResult> ClientCore::Fence(std::string_view name, int64_t fencing_token,
                                              const FenceOptions& options) {
  v1::SessionOperation request;
  request.mutable_fence()->set_name(std::string(name));
  request.mutable_fence()->set_fencing_token(fencing_token);
  request.mutable_fence()->set_require_live_lease(options.require_live_lease);
  SetTrace(CallersTrace(options_), request);
  return FencedFrom(RunUntilAnswered(call_ports(), options_.call_timeout, request).answer);
}

absl::StatusOr<ReleaseOutcome> ClientCore::ReleaseHeld(const LeaseRef& lease, Duration remaining) {
  const Duration timeout = options_.release_timeout;
  const auto pending =
      releaser_.Release(lease, CallersTrace(options_),
                        clock_.Now() + std::max(remaining + LeaseMargin(remaining), timeout));
  return pending->WaitOrExplain(timeout);
}

void ClientCore::ReleaseInBackground(LeaseRef lease, TraceContext trace, Duration expires_in) {
  releaser_.Release(std::move(lease), std::move(trace), clock_.Now() + expires_in);
}

}  // namespace lockkeeper::client
