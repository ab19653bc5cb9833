// SPDX-License-Identifier: Apache-2.0
#include "cli/top/grant_rates.h"

#include <poll.h>

#include <utility>

#include "lockkeeper/admin/v1/admin_service.grpc.pb.h"
#include "os/boot_clock.h"

namespace lockkeeper::cli {
namespace {

constexpr std::chrono::seconds kCounted{10};
// Of less nothing can be said.
constexpr std::chrono::seconds kCountedAtLeast{1};
constexpr int kPauseMs = 2'000;

}  // namespace

GrantRates::GrantRates(AdminConnection connection, std::string prefix)
    : connection_(std::move(connection)), prefix_(std::move(prefix)), thread_([this] { Run(); }) {}

GrantRates::~GrantRates() {
  stop_.Notify();
  connection_.Cancel();
  thread_.join();
}

void GrantRates::Run() {
  pollfd stopped{stop_.descriptor(), POLLIN, 0};
  do {
    const absl::Status status = Watch();
    const std::lock_guard lock(mutex_);
    spans_.clear();
    problem_ = std::string(status.message());
  } while (poll(&stopped, 1, kPauseMs) <= 0);
}

absl::Status GrantRates::Watch() {
  const auto stub = admin::v1::AdminService::NewStub(connection_.channel());
  admin::v1::WatchLocksRequest request;
  request.set_prefix(prefix_);
  return connection_.CallWithoutEnd([&](grpc::ClientContext& context) {
    const auto reader = stub->WatchLocks(&context, request);
    admin::v1::WatchLocksResponse response;
    while (reader->Read(&response)) {
      const std::lock_guard lock(mutex_);
      for (const admin::v1::LockEvent& event : response.events()) Count(event);
    }
    return reader->Finish();
  });
}

void GrantRates::Count(const admin::v1::LockEvent& event) {
  switch (event.kind()) {
    case admin::v1::LOCK_EVENT_KIND_STARTED:
    case admin::v1::LOCK_EVENT_KIND_GAP:  // Some may be missing.
      spans_.clear();
      spans_.push_back({os::BootTime(), {}});
      problem_.clear();
      return;
    case admin::v1::LOCK_EVENT_KIND_GRANTED:
      if (!spans_.empty()) ++spans_.back().grants[event.name()];
      return;
    default:
      return;
  }
}

std::optional<GrantRates::Rates> GrantRates::Take() {
  const std::lock_guard lock(mutex_);
  const std::chrono::nanoseconds now = os::BootTime();
  while (spans_.size() > 1 && now - spans_[1].began >= kCounted) spans_.pop_front();
  if (spans_.empty() || now - spans_.front().began < kCountedAtLeast) return std::nullopt;
  const double seconds = std::chrono::duration<double>(now - spans_.front().began).count();
  Rates rates;
  for (const Span& span : spans_) {
    for (const auto& [name, grants] : span.grants) {
      rates[name] += static_cast<double>(grants) / seconds;
    }
  }
  spans_.push_back({now, {}});
  return rates;
}

std::string GrantRates::Problem() {
  const std::lock_guard lock(mutex_);
  return problem_;
}

}  // namespace lockkeeper::cli
