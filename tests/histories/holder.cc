// SPDX-License-Identifier: Apache-2.0
#include "histories/holder.h"

#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "support/rpc/error_reason.h"

namespace lockkeeper::histories {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kBetweenTries{20};
constexpr milliseconds kBetweenExtends{200};
constexpr milliseconds kCallLimit{1'000};
constexpr std::chrono::seconds kPatience{60};
// What a client takes off: 1 % and 50 ms.
constexpr int kMarginShare = 100;
constexpr milliseconds kMargin{50};

}  // namespace

Holder::Holder(Scene& scene, milliseconds ttl, std::string lock)
    : ttl_(ttl), lock_(std::move(lock)) {
  for (size_t i = 0; i < scene.daemons(); ++i) {
    daemons_.emplace_back(scene.daemon_gate(i).address(), kCallLimit);
  }
  thread_ = std::thread([this] { Hold(); });
}

void Holder::Stop() {
  stopping_ = true;
  if (thread_.joinable()) thread_.join();
}

void Holder::Hold() {
  for (size_t i = 0; !stopping_ && problem_.empty(); i = (i + 1) % daemons_.size()) {
    const bool done = token_ == 0 ? Acquire(daemons_[i]) : Extend(daemons_[i]);
    std::this_thread::sleep_for(done ? kBetweenExtends : kBetweenTries);
  }
  const std::lock_guard lock(mutex_);
  over_ = true;
  changed_.notify_all();
}

void Holder::AwaitAnswer() {
  const auto since = Clock::now();
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, kPatience, [&] { return over_ || answered_ > since; })) {
    throw std::runtime_error("nobody answers the holder");
  }
}

template <typename Response>
void Holder::NoteFailure(const support::Answer<Response>& answer) {
  if (answer.ok()) return;
  const std::string reason = answer.reason == support::kNoDetails ? "" : answer.reason;
  ++failures_[std::to_string(answer.status.error_code()) + " " + reason];
}

bool Holder::Acquire(support::LockClient& daemon) {
  const auto sent = Clock::now();
  const auto answer = daemon.Acquire(support::AcquireOf(lock_, id_, ttl_));
  NoteFailure(answer);
  if (!answer.response.has_lease()) return false;
  const int64_t token = answer.response.lease().fencing_token();
  if (token <= last_token_) problem_ = "a token fell";
  token_ = last_token_ = token;
  Take(answer.response.lease(), sent);
  return true;
}

bool Holder::Extend(support::LockClient& daemon) {
  auto request = support::ExtendOf(lock_, id_);
  request.set_fencing_token(token_);
  request.set_reassertion(proof_);
  const auto sent = Clock::now();
  const auto answer = daemon.Extend(request);
  NoteFailure(answer);
  if (answer.ok()) {
    if (answer.response.lease().fencing_token() != token_) problem_ = "it has another token";
    Take(answer.response.lease(), sent);
    return true;
  }
  if (answer.reason != "LEASE_LOST") return false;
  if (Clock::now() < end_) problem_ = answer.status.error_message();
  ++ended_;
  id_ = support::NewLeaseId();
  token_ = 0;
  return false;
}

void Holder::Take(const v1::Lease& lease, Clock::time_point sent) {
  proof_ = lease.reassertion();
  const auto left =
      milliseconds(google::protobuf::util::TimeUtil::DurationToMilliseconds(lease.remaining_ttl()));
  end_ = std::max(end_, sent + left - left / kMarginShare - kMargin);
  const std::lock_guard lock(mutex_);
  answered_ = sent;
  changed_.notify_all();
}

}  // namespace lockkeeper::histories
