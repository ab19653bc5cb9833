// SPDX-License-Identifier: Apache-2.0
#include "transport/session_operations.h"

#include <algorithm>
#include <utility>

namespace lockkeeper::client {
namespace {

// Longest wait for a daemon to end a session in good order, which only its log is better for.
constexpr std::chrono::milliseconds kGoodEndTimeout{200};

}  // namespace

SessionOperations::SessionOperations(const SessionPorts& ports, Operations& unary,
                                     NewStream new_stream, Settings settings)
    : ports_(ports),
      unary_(unary),
      new_stream_(std::move(new_stream)),
      settings_(std::move(settings)) {}

void SessionOperations::Run(OperationPtr operation) {
  if (SessionLink::CanCarry(operation->request)) {
    const std::shared_ptr<SessionLink> link = CurrentLink();
    if (link != nullptr && link->Run(operation)) return;
  }
  unary_.Run(std::move(operation));
}

std::shared_ptr<SessionLink> SessionOperations::CurrentLink() {
  std::shared_ptr<SessionLink> link;
  bool may_wait = false;
  {
    const std::lock_guard lock(mutex_);
    may_wait = policy_.MayWait();
    if (link_ != nullptr) return open_ || may_wait ? link_ : nullptr;
    if (closed_ || !policy_.MayOpen(ports_.clock.Now())) return nullptr;
    SessionLinkOwner& owner = *this;
    link = std::make_shared<SessionLink>(ports_.clock, ports_.scheduler, owner);
    link_ = link;
    links_.push_back(link);
  }
  link->Open(new_stream_(link), settings_.owner);
  return may_wait ? link : nullptr;
}

void SessionOperations::Cancel(const OperationPtr& operation) {
  operation->cancelled = true;
  std::vector<std::shared_ptr<SessionLink>> links;
  {
    const std::lock_guard lock(mutex_);
    links = links_;
  }
  const bool was_there = std::any_of(links.begin(), links.end(),
                                     [&](const auto& link) { return link->Cancel(*operation); });
  if (!was_there) unary_.Cancel(operation);
}

void SessionOperations::Close() {
  std::unique_lock lock(mutex_);
  closed_ = true;
  const auto links = links_;
  lock.unlock();
  for (const auto& link : links) {
    if (!link->Retire()) link->Break();
  }
  lock.lock();
  const auto all_gone = [&] { return links_.empty(); };
  if (all_gone_.wait_for(lock, kGoodEndTimeout, all_gone)) return;
  lock.unlock();
  for (const auto& link : links) link->Break();
  lock.lock();
  all_gone_.wait(lock, all_gone);
}

void SessionOperations::OnOpened(SessionLink& link) {
  const std::lock_guard lock(mutex_);
  if (link_.get() != &link) return;
  open_ = true;
  policy_.Opened(ports_.clock.Now());
}

void SessionOperations::OnDraining(SessionLink& /*link*/) { settings_.on_draining(); }

void SessionOperations::OnBroken(SessionLink& link, SessionPolicy::End end,
                                 std::vector<OperationPtr> unsent) {
  const double jitter = ports_.jitter.Next();
  bool closed = false;
  {
    const std::lock_guard lock(mutex_);
    closed = closed_;
    policy_.Ended(end, ports_.clock.Now(), jitter);
    if (link_.get() == &link) {
      link_ = nullptr;
      open_ = false;
    }
  }
  for (OperationPtr& operation : unsent) {
    if (closed) {
      std::move(operation->done)(absl::CancelledError("the client is closed"));
    } else {
      unary_.Run(std::move(operation));
    }
  }
}

void SessionOperations::OnGone(SessionLink& link) {
  const std::lock_guard lock(mutex_);
  std::erase_if(links_, [&](const auto& each) { return each.get() == &link; });
  if (links_.empty()) all_gone_.notify_all();
}

}  // namespace lockkeeper::client
