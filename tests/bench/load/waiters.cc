// SPDX-License-Identifier: Apache-2.0
#include "bench/load/waiters.h"

#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <random>
#include <stdexcept>
#include <utility>

#include "core/types.h"
#include "support/process/http_get.h"

namespace lockkeeper::bench {
namespace {

constexpr int kTtlSeconds = 600;  // The daemon has to allow it: nothing is extended here.
constexpr int kWaitSeconds = 600;
constexpr std::chrono::seconds kPatience{60};

std::shared_ptr<grpc::Channel> Connect(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // A connection of its own.
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

v1::AcquireRequest AcquireOf(const std::string& name) {
  std::random_device random;
  const auto bits = [&random] { return (uint64_t{random()} << 32) | random(); };
  v1::AcquireRequest request;
  request.set_name(name);
  request.set_lease_id(std::string(core::LeaseId::FromBits(bits(), bits()).digits()));
  request.set_owner("bench");
  request.mutable_ttl()->set_seconds(kTtlSeconds);
  return request;
}

void Require(const grpc::Status& status) {
  if (!status.ok()) throw std::runtime_error(status.error_message());
}

}  // namespace

Caller::Caller(const std::string& address) { locks_ = v1::LockService::NewStub(Connect(address)); }

v1::Lease Caller::Acquire(const std::string& name) {
  grpc::ClientContext context;
  v1::AcquireResponse response;
  Require(locks_->Acquire(&context, AcquireOf(name), &response));
  if (!response.has_lease()) throw std::runtime_error("a lock was not granted");
  return std::move(*response.mutable_lease());
}

void Caller::Release(const v1::Lease& lease) {
  grpc::ClientContext context;
  v1::ReleaseRequest request;
  request.set_name(lease.name());
  request.set_lease_id(lease.lease_id());
  v1::ReleaseResponse response;
  Require(locks_->Release(&context, request, &response));
  if (!response.released()) throw std::runtime_error("a lock was not released");
}

void Caller::Claim(const v1::Lease& lease) {
  grpc::ClientContext context;
  v1::ExtendRequest request;
  request.set_name(lease.name());
  request.set_lease_id(lease.lease_id());
  v1::ExtendResponse response;
  Require(locks_->Extend(&context, request, &response));
  if (response.lease().offered()) throw std::runtime_error("an offer was not claimed");
}

void AwaitWaiters(const std::string& http, size_t count) {
  const std::string wanted = "\nlockkeeper_waiters " + std::to_string(count) + "\n";
  const auto until = SteadyClock::now() + kPatience;
  for (;;) {
    if (support::HttpGet(http, "/metrics").body.find(wanted) != std::string::npos) return;
    if (SteadyClock::now() > until) {
      throw std::runtime_error(std::to_string(count) + " waiters are not reached");
    }
    LetPass(std::chrono::milliseconds(20));
  }
}

struct Waiters::Call {
  grpc::ClientContext context;
  v1::AcquireRequest request;
  v1::AcquireResponse response;
};

Waiters::Waiters(const std::string& address, size_t connections) {
  for (size_t i = 0; i < connections; ++i) {
    stubs_.push_back(v1::LockService::NewStub(Connect(address)));
  }
}

Waiters::~Waiters() { Leave(); }

void Waiters::Start(const std::string& name, Claims claims) {
  v1::LockService::Stub& stub = *stubs_[calls_.size() % stubs_.size()];
  Call& call = calls_.emplace_back();
  call.request = AcquireOf(name);
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

void LetPass(std::chrono::duration<double> time) {
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable().wait_for(lock, time, [] { return false; });
}

}  // namespace lockkeeper::bench
