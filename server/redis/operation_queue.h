// SPDX-License-Identifier: Apache-2.0
//
// Joins operations into few script calls, and keeps the order of operations on each lock.
//
// All operations of one loop turn leave together at its end, up to kOperationsPerCall of one kind
// in a script call. A lock has operations of one kind in one call at a time; later ones wait for
// the reply, so neither another kind nor a call that has to be sent again can overtake. An
// extend goes ahead of what is asked for other leases. An operation that has to see the line of
// waiters goes again, first of its lock, with the line's key.
// All operations of a lock have one route, and a script call has operations of one route. While the
// guard of the store does not permit calls, operations wait for it until their deadlines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/clock.h"
#include "core/executor.h"
#include "core/indexed_heap.h"
#include "redis/format/key_layout.h"
#include "redis/guard/store_guard.h"
#include "redis/node/node.h"
#include "redis/operation.h"

namespace lockkeeper::redis {

// Operations in one script call. More make a call block the node longer without making it cheaper:
// 16 gain most of what batching gains (docs/internals/performance.md).
inline constexpr size_t kOperationsPerCall = 32;

struct OperationQueueOptions {
  KeyLayout keys{"lk:"};
  core::Millis record_retention{60'000};
};

// What decides whether operations may share a script call.
struct CallKind {
  const ScriptSource* script;
  LineKey line_key;
  bool operator==(const CallKind&) const = default;
};

// Completion: the operation's `done` runs exactly once, on the loop's thread, at its deadline at
// the latest, never before Submit returned.
// Errors: STORE_UNAVAILABLE (not executed, and it will not be), OUTCOME_UNKNOWN; RATE_LIMIT of one
// that may be refused (not executed: the store answers, but its lock has too many operations).
// Thread-safety: loop-thread only. Lifetime: borrows its collaborators; operations that have not
// ended when it is destroyed end with OUTCOME_UNKNOWN or STORE_UNAVAILABLE.
class OperationQueue {
 public:
  OperationQueue(Node& node, StoreGuard& guard, const core::Clock& clock, core::Executor& executor,
                 OperationQueueOptions options);
  ~OperationQueue();
  OperationQueue(const OperationQueue&) = delete;
  OperationQueue& operator=(const OperationQueue&) = delete;

  void Submit(Operation operation);

  // Answers an operation that is not to be sent, in a later turn.
  void Reject(OperationDone done, absl::Status error);

  const KeyLayout& keys() const { return options_.keys; }

 private:
  struct Pending;
  class PendingList;
  struct Lock;
  struct Call;
  using PendingPtr = std::unique_ptr<Pending>;

  void Add(Lock& lock, PendingPtr pending);
  void PutBack(PendingPtr pending);
  PendingPtr TakeFirst(Lock& lock);
  void FlushAtEndOfTurn();
  void Flush();
  bool HeldBack(Lock& lock);
  bool IsPermitted(Lock& lock) const;
  void ReleaseHeld();
  void TakeReady(Lock& lock, std::vector<std::unique_ptr<Call>>& open);
  void Send(std::unique_ptr<Call> call);
  void OnReply(Call& call, absl::StatusOr<Reply> reply);
  void OnGuardRefused(Call& call, int64_t outcome);
  void OnKeysMoved(Call& call);
  void TakeBack(Call& call, std::vector<Lock*>& locks);
  void AddMarkerAndCommonArguments(const Call& call, size_t keys_per_lock, Command& command) const;
  bool WantsLine(const Pending& pending, const OperationReply& reply) const;
  void SendAgain(PendingPtr pending);
  void Complete(Pending& pending, absl::StatusOr<OperationReply> reply);
  void ScheduleNext(Lock& lock);

  void WatchDeadline(Pending& pending);
  void ArmTimer(core::Instant at);
  void ExpireDue();
  absl::Status NotSent(const Pending& pending) const;

  Node& node_;
  StoreGuard& guard_;
  const core::Clock& clock_;
  core::Executor& executor_;
  const OperationQueueOptions options_;

  std::unordered_map<std::string, Lock> locks_;  // By the key of the record.
  // How many operations of each lease wait.
  absl::flat_hash_map<core::LeaseId, uint32_t, core::HashOfHexId> waiting_;
  std::vector<Lock*> ready_;
  std::vector<Lock*> flushing_;  // Empty except in Flush(); kept for its memory.
  std::vector<Lock*> held_;      // Ready, but not permitted by the guard, or with moved keys.
  bool flush_scheduled_ = false;

  core::IndexedHeap<Pending> deadlines_;  // Of those that have not ended.
  uint64_t next_number_ = 0;
  core::Instant timer_at_ = core::Instant::max();
  std::unique_ptr<core::Timer> timer_;
  std::unique_ptr<core::Timer> moved_timer_;
  // False once this queue is gone; late callbacks check it.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace lockkeeper::redis
