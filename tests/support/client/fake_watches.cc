// SPDX-License-Identifier: Apache-2.0
#include "support/client/fake_watches.h"

#include <chrono>
#include <deque>
#include <utility>

namespace lockkeeper::support {

struct FakeWatches::One {
  std::deque<admin::v1::WatchLocksResponse> unsaid;
  std::optional<grpc::Status> end;
};

grpc::Status FakeWatches::Serve(grpc::ServerContext& context,
                                const admin::v1::WatchLocksRequest& request, Stream& stream) {
  One one;
  std::unique_lock lock(mutex_);
  one.end = end_all_;
  open_.insert(&one);
  seen_.push_back(request);
  const auto shown = context.client_metadata().find("authorization");
  authorizations_.push_back(shown == context.client_metadata().end()
                                ? ""
                                : std::string(shown->second.data(), shown->second.size()));
  changed_.notify_all();
  while (true) {
    // gRPC's blocking services cannot be told of a cancel; they have to look.
    changed_.wait_for(lock, std::chrono::milliseconds(2),
                      [&] { return one.end || !one.unsaid.empty(); });
    if (context.IsCancelled()) one.end = grpc::Status::CANCELLED;
    if (one.unsaid.empty() && !one.end) continue;
    if (one.unsaid.empty() || context.IsCancelled()) break;
    const admin::v1::WatchLocksResponse response = std::move(one.unsaid.front());
    one.unsaid.pop_front();
    lock.unlock();
    stream.Write(response);
    lock.lock();
  }
  open_.erase(&one);
  changed_.notify_all();
  return *one.end;
}

void FakeWatches::Say(admin::v1::LockEventKind kind, int64_t token, const std::string& owner) {
  admin::v1::WatchLocksResponse response;
  admin::v1::LockEvent& event = *response.add_events();
  event.set_kind(kind);
  event.set_fencing_token(token);
  event.set_owner(owner);
  const std::lock_guard lock(mutex_);
  for (One* one : open_) one->unsaid.push_back(response);
  changed_.notify_all();
}

void FakeWatches::End(const grpc::Status& status) {
  const std::lock_guard lock(mutex_);
  for (One* one : open_) one->end = status;
  changed_.notify_all();
}

void FakeWatches::EndAll(const grpc::Status& status) {
  const std::lock_guard lock(mutex_);
  end_all_ = status;
}

std::vector<admin::v1::WatchLocksRequest> FakeWatches::seen() const {
  const std::lock_guard lock(mutex_);
  return seen_;
}

std::vector<std::string> FakeWatches::authorizations() const {
  const std::lock_guard lock(mutex_);
  return authorizations_;
}

bool FakeWatches::WaitForOpened(size_t count) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::minutes(1), [&] { return seen_.size() >= count; });
}

bool FakeWatches::WaitForOpen(size_t count) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::minutes(1), [&] { return open_.size() == count; });
}

}  // namespace lockkeeper::support
