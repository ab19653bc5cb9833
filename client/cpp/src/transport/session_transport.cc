// SPDX-License-Identifier: Apache-2.0
#include "transport/session_transport.h"

#include <algorithm>
#include <utility>

namespace lockkeeper::client {
namespace {

// Longest wait for a daemon to end a session cleanly. Only the daemon's log depends on it.
constexpr std::chrono::milliseconds kGoodEndTimeout{200};

}  // namespace

SessionTransport::SessionTransport(const SessionPorts& ports, Transport& unary,
                                   NewStream new_stream, Settings settings)
    : ports_(ports),
      unary_(unary),
      new_stream_(std::move(new_stream)),
      settings_(std::move(settings)) {}

void SessionTransport::Run(PendingOperationPtr operation) {
  if (SessionLink::CanCarry(operation->request)) {
    const std::shared_ptr<SessionLink> link = CurrentLink();
    if (link != nullptr && link->Run(operation)) return;
  }
  unary_.Run(std::move(operation));
}

std::shared_ptr<SessionLink> SessionTransport::CurrentLink() {
  std::shared_ptr<SessionLink> link;
  std::shared_ptr<SessionLink> outdated;
  bool may_wait = false;
  const uint64_t token_version = settings_.token_version();
  {
    const std::lock_guard lock(mutex_);
    if (link_ != nullptr && token_version_ != token_version) {
      outdated = std::exchange(link_, nullptr);
      open_ = false;
    }
    token_version_ = token_version;
  }
  if (outdated != nullptr) outdated->RetireWhenAnswered();
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

void SessionTransport::Cancel(const PendingOperationPtr& operation) {
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

void SessionTransport::Forget(const std::string& name, const std::string& lease_id) {
  std::vector<std::shared_ptr<SessionLink>> links;
  {
    const std::lock_guard lock(mutex_);
    links = links_;
  }
  for (const auto& link : links) link->Forget(name, lease_id);
}

void SessionTransport::Close() {
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

void SessionTransport::OnOpened(SessionLink& link) {
  const std::lock_guard lock(mutex_);
  if (link_.get() != &link) return;
  open_ = true;
  policy_.Opened(ports_.clock.Now());
}

// Who sees that the session has ended must find the next daemon in use already.
void SessionTransport::OnDraining(SessionLink& link) {
  settings_.on_draining();
  {
    const std::lock_guard lock(mutex_);
    if (link_.get() == &link) {
      link_ = nullptr;
      open_ = false;
    }
  }
  link.RetireWhenAnswered();
}

void SessionTransport::OnLeaseEnded(SessionLink& /*link*/, const std::string& name,
                                    const std::string& lease_id) {
  settings_.on_lease_ended(name, lease_id);
}

void SessionTransport::OnBroken(SessionLink& link, SessionPolicy::End end,
                                std::vector<PendingOperationPtr> unsent) {
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
  for (PendingOperationPtr& operation : unsent) {
    if (closed) {
      std::move(operation->done)(absl::CancelledError("the client is closed"));
    } else {
      unary_.Run(std::move(operation));
    }
  }
}

void SessionTransport::OnGone(SessionLink& link) {
  const std::lock_guard lock(mutex_);
  std::erase_if(links_, [&](const auto& each) { return each.get() == &link; });
  if (links_.empty()) all_gone_.notify_all();
}

}  // namespace lockkeeper::client
