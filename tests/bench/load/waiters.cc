// SPDX-License-Identifier: Apache-2.0
#include "bench/load/waiters.h"

#include <chrono>
#include <random>
#include <stdexcept>
#include <utility>

#include "core/types.h"

namespace lockkeeper::bench {
namespace {

constexpr int kTtlSeconds = 600;
constexpr int kWaitSeconds = 600;
constexpr std::chrono::seconds kPatience{60};

}  // namespace

v1::AcquireRequest LongAcquireOf(const std::string& name) {
  std::random_device random;
  const auto bits = [&random] { return (uint64_t{random()} << 32) | random(); };
  v1::AcquireRequest request;
  request.set_name(name);
  request.set_lease_id(std::string(core::LeaseId::FromBits(bits(), bits()).digits()));
  request.set_owner("bench");
  request.mutable_ttl()->set_seconds(kTtlSeconds);
  return request;
}

struct Waiters::Call {
  grpc::ClientContext context;
  v1::AcquireRequest request;
  v1::AcquireResponse response;
};

Waiters::Waiters(const std::string& address, size_t connections) {
  for (size_t i = 0; i < connections; ++i) {
    stubs_.push_back(v1::LockService::NewStub(ConnectAlone(address)));
  }
}

Waiters::~Waiters() { Leave(); }

void Waiters::Start(const std::string& name, Claims claims) {
  v1::LockService::Stub& stub = *stubs_[calls_.size() % stubs_.size()];
  Call& call = calls_.emplace_back();
  call.request = LongAcquireOf(name);
  call.request.mutable_wait_timeout()->set_seconds(kWaitSeconds);
  call.request.set_confirm(claims == Claims::kWe);
  stub.async()->Acquire(&call.context, &call.request, &call.response,
                        [this, &call](const grpc::Status& status) { OnAnswer(call, status); });
}

void Waiters::OnAnswer(Call& call, const grpc::Status& status) {
  const auto now = SteadyClock::now();
  const std::lock_guard lock(mutex_);
  ++over_;
  if (status.ok() && call.response.has_lease()) {
    granted_.push_back({std::move(*call.response.mutable_lease()), now});
  } else if (!leaving_) {
    problem_ = status.ok() ? "a waiter was not granted the lock" : status.error_message();
  }
  changed_.notify_all();
}

Granted Waiters::Next() {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, kPatience, [this] { return !granted_.empty() || !problem_.empty(); });
  if (!problem_.empty()) throw std::runtime_error(problem_);
  if (granted_.empty()) throw std::runtime_error("nobody's turn comes");
  Granted next = std::move(granted_.front());
  granted_.pop_front();
  return next;
}

void Waiters::Leave() {
  {
    const std::lock_guard lock(mutex_);
    leaving_ = true;
  }
  for (Call& call : calls_) call.context.TryCancel();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return over_ == calls_.size(); });
}

}  // namespace lockkeeper::bench
