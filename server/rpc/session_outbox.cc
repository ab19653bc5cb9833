// SPDX-License-Identifier: Apache-2.0
#include "rpc/session_outbox.h"

#include <iterator>
#include <utility>

#include "core/limits.h"

namespace lockkeeper::rpc {
namespace {

using core::limits::kSessionOperationsMax;
using core::limits::kSessionRefusalsMax;

// Results in one message: about 200 KiB at most.
constexpr int kResultsMax = core::limits::kSessionBatchMax;

// Leases in one message of a heartbeat's answer. With names of full length they are below the 4 MiB
// that gRPC's clients take.
constexpr int kLeasesMax = 4'096;

// Answers to heartbeats that are not sent yet.
constexpr size_t kHeartbeatsMax = 4;

}  // namespace

SessionOutbox::SessionOutbox() = default;

SessionOutbox::PagePtr SessionOutbox::NewPage() {
  PagePtr page = spare_ ? std::exchange(spare_, nullptr) : std::make_unique<Page>();
  page->arena.Reset();
  page->message = google::protobuf::Arena::CreateMessage<v1::SessionResponse>(&page->arena);
  page->places = page->refusals = 0;
  return page;
}

SessionOutbox::Page& SessionOutbox::PageWithRoom() {
  if (results_.empty() || results_.back()->message->results().results_size() >= kResultsMax) {
    results_.push_back(NewPage());
  }
  return *results_.back();
}

SessionOutbox::Page& SessionOutbox::AddAlone(std::deque<PagePtr>& to) {
  to.push_back(NewPage());
  return *to.back();
}

bool SessionOutbox::TakePlace() {
  if (taken_ >= kSessionOperationsMax) return false;
  ++taken_;
  ++unanswered_;
  return true;
}

v1::SessionResult& SessionOutbox::AddResult() {
  --unanswered_;
  Page& page = PageWithRoom();
  ++page.places;
  return *page.message->mutable_results()->add_results();
}

v1::SessionOffer& SessionOutbox::AddOffer() {
  --unanswered_;
  Page& page = AddAlone(urgent_);
  ++page.places;
  return *page.message->mutable_offer();
}

v1::SessionAdoptResult& SessionOutbox::AddAdoptResult() {
  --unanswered_;
  Page& page = AddAlone(urgent_);
  ++page.places;
  return *page.message->mutable_adopt_result();
}

v1::SessionResult* SessionOutbox::AddRefusal() {
  if (refusals_ >= kSessionRefusalsMax) return nullptr;
  ++refusals_;
  Page& page = PageWithRoom();
  ++page.refusals;
  return page.message->mutable_results()->add_results();
}

void SessionOutbox::SetOpened(v1::SessionOpened opened) {
  *AddAlone(urgent_).message->mutable_opened() = std::move(opened);
}

void SessionOutbox::SetDraining(v1::SessionDraining draining) {
  *AddAlone(urgent_).message->mutable_draining() = std::move(draining);
}

void SessionOutbox::AddHeartbeatResult(v1::SessionHeartbeatResult result) {
  heartbeats_.push_back(std::move(result));
  if (heartbeats_.size() == 1) return;
  const auto older = std::prev(heartbeats_.end(), 2);
  if (older->reassertions().empty()) {
    PassOver(older);
  } else if (heartbeats_.size() > kHeartbeatsMax) {
    PassOver(heartbeats_.begin());
  }
}

// Of the leases that still run, the newer attempt counts. Without the proofs their client believes
// in them for less time.
void SessionOutbox::PassOver(std::deque<v1::SessionHeartbeatResult>::iterator older) {
  v1::SessionHeartbeatResult& next = *std::next(older);
  for (v1::SessionLeaseLost& lost : *older->mutable_not_extended()) {
    if (lost.reason() == v1::ERROR_REASON_LEASE_LOST) *next.add_not_extended() = std::move(lost);
  }
  heartbeats_.erase(older);
}

void SessionOutbox::SetClosed(v1::SessionClosed closed) { closed_ = closed; }

// Answers of heartbeats overtake results: leases that are lost must not wait behind thousands of
// results that their client is slow to read.
const v1::SessionResponse* SessionOutbox::Next() {
  if (!urgent_.empty()) {
    sending_ = std::move(urgent_.front());
    urgent_.pop_front();
  } else if (!heartbeats_.empty()) {
    sending_ = NewPage();
    TakeHeartbeatResult(*sending_->message->mutable_heartbeat_result());
  } else if (!results_.empty()) {
    sending_ = std::move(results_.front());
    results_.pop_front();
  } else if (closed_) {
    sending_ = NewPage();
    *sending_->message->mutable_closed() = *std::exchange(closed_, std::nullopt);
  } else {
    return nullptr;
  }
  // Already free: the client may have read the answers, and send more, before we hear that they are
  // sent.
  taken_ -= sending_->places;
  refusals_ -= sending_->refusals;
  return sending_->message;
}

void SessionOutbox::TakeHeartbeatResult(v1::SessionHeartbeatResult& message) {
  v1::SessionHeartbeatResult& oldest = heartbeats_.front();
  auto& left = *oldest.mutable_not_extended();
  message.set_number(oldest.number());
  for (int i = 0; i < kLeasesMax && !left.empty(); ++i) {
    *message.add_not_extended() = std::move(*left.rbegin());
    left.RemoveLast();
  }
  auto& proofs = *oldest.mutable_reassertions();
  for (int i = 0; i < kLeasesMax && !proofs.empty(); ++i) {
    const auto proof = proofs.begin();
    (*message.mutable_reassertions())[proof->first] = std::move(proof->second);
    proofs.erase(proof);
  }
  message.set_more(!left.empty() || !proofs.empty());
  if (!message.more()) heartbeats_.pop_front();
}

void SessionOutbox::Sent() { spare_ = std::exchange(sending_, nullptr); }

bool SessionOutbox::empty() const {
  return !sending_ && urgent_.empty() && results_.empty() && heartbeats_.empty() && !closed_;
}

}  // namespace lockkeeper::rpc
