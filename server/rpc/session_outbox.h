// SPDX-License-Identifier: Apache-2.0
//
// Collects what a session has to send while an earlier message is in flight. Bounded by admission:
// an operation reserves the place of its answer, which is free again once the answer is in flight.
// Of heartbeats the newest is answered, with all leases that were lost; older ones only if they
// bring proofs, which a client counts from the heartbeat that they came with.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "google/protobuf/arena.h"
#include "lockkeeper/v1/lock_service.pb.h"

namespace lockkeeper::rpc {

// Thread-safety: thread-compatible.
class SessionOutbox {
 public:
  SessionOutbox();

  // Reserves a place for the answer of an operation. False if none is free.
  bool TakePlace();

  // The answer of an operation that has a place, to be filled in: one of these three.
  v1::SessionResult& AddResult();
  v1::SessionOffer& AddOffer();
  v1::SessionAdoptResult& AddAdoptResult();

  // The refusal of an operation that got no place, to be filled in. Null if the client leaves so
  // many unread that its session must be ended.
  v1::SessionResult* AddRefusal();

  void SetOpened(v1::SessionOpened opened);
  void AddHeartbeatResult(v1::SessionHeartbeatResult result);
  void SetDraining(v1::SessionDraining draining);
  void SetClosed(v1::SessionClosed closed);  // It is sent last.

  // The next message to send; null if there is none. It is valid until Sent().
  // Requires: none is on its way.
  const v1::SessionResponse* Next();

  // The message was sent.
  void Sent();

  // Operations that have a place and no answer yet.
  int32_t unanswered() const { return unanswered_; }

  // Operations without an answer, and answers and refusals that are not in flight.
  int32_t kept() const { return taken_ + refusals_; }
  // Of these, those with an answer.
  int32_t unread() const { return kept() - unanswered_; }

  // Whether nothing is left to send and nothing is in flight.
  bool empty() const;

 private:
  // A message, and what becomes free when it is sent.
  struct Page {
    google::protobuf::Arena arena;
    v1::SessionResponse* message = nullptr;
    int32_t places = 0;
    int32_t refusals = 0;
  };
  using PagePtr = std::unique_ptr<Page>;

  PagePtr NewPage();
  Page& PageWithRoom();
  Page& AddAlone(std::deque<PagePtr>& to);
  // Drops this answer to a heartbeat; the next one tells what it lost.
  void PassOver(std::deque<v1::SessionHeartbeatResult>::iterator older);
  void TakeHeartbeatResult(v1::SessionHeartbeatResult& message);

  int32_t unanswered_ = 0;
  int32_t taken_ = 0;     // Unanswered, or with an answer that is not on its way.
  int32_t refusals_ = 0;  // Not on their way.

  std::deque<PagePtr> urgent_;                         // Opened, offers, adoptions, draining.
  std::deque<PagePtr> results_;                        // The last one is being filled.
  std::deque<v1::SessionHeartbeatResult> heartbeats_;  // The oldest first.
  std::optional<v1::SessionClosed> closed_;
  PagePtr sending_;
  PagePtr spare_;  // Its memory is used again.
};

}  // namespace lockkeeper::rpc
