// SPDX-License-Identifier: Apache-2.0
#include "histories/told_leases.h"

#include <chrono>
#include <stdexcept>
#include <utility>

#include "support/rpc/lock_requests.h"

namespace lockkeeper::histories {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kTtl{1'000};
constexpr milliseconds kCallLimit{1'000};
// So few that their records, which are kept for long, do not fill the servers.
constexpr milliseconds kBetween{20};
constexpr std::chrono::seconds kPatience{60};

}  // namespace

ToldLeases::ToldLeases(Scene& scene) {
  for (size_t i = 0; i < scene.daemons(); ++i) {
    daemons_.emplace_back(scene.daemon_gate(i).address(), kCallLimit);
  }
  thread_ = std::thread([this] { Acquire(); });
}

ToldLeases::~ToldLeases() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void ToldLeases::Acquire() {
  std::unique_lock lock(mutex_);
  for (size_t i = 0; !changed_.wait_for(lock, kBetween, [this] { return stopping_; }); ++i) {
    lock.unlock();
    const std::string name = "told " + std::to_string(i);
    const auto answer = daemons_[i % daemons_.size()].Acquire(
        support::AcquireOf(name, support::NewLeaseId(), kTtl));
    lock.lock();
    if (!answer.response.has_lease()) continue;
    told_.push_back(name);
    changed_.notify_all();
  }
}

std::vector<std::string> ToldLeases::Take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(told_, {});
}

void ToldLeases::AwaitMore(size_t count) {
  std::unique_lock lock(mutex_);
  const size_t wanted = told_.size() + count;
  if (!changed_.wait_for(lock, kPatience, [&] { return told_.size() >= wanted; })) {
    throw std::runtime_error("nothing is granted, though nothing is wrong");
  }
}

}  // namespace lockkeeper::histories
