// SPDX-License-Identifier: Apache-2.0
//
// One call of WatchLocks: passes on what the caller may see of what core/lock_watches tells. Keeps
// what a slow caller has not read, up to a limit; what comes then is dropped, and a gap is told.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>

#include "absl/status/status.h"
#include "core/lock_watches.h"
#include "core/wall_time.h"
#include "google/protobuf/arena.h"
#include "grpcpp/support/server_callback.h"
#include "lockkeeper/admin/v1/admin_service.pb.h"
#include "rpc/call_context.h"
#include "rpc/operation.h"

namespace lockkeeper::rpc {

// Ownership: deletes itself when gRPC is done with it, which is after the loop is. Lifetime:
// borrows all arguments of the constructor. Thread-safety: gRPC calls it on its threads, the loop
// on its own.
class WatchReactor final : public grpc::ServerWriteReactor<admin::v1::WatchLocksResponse>,
                           private core::WatchListener {
 public:
  WatchReactor(const Edge& edge, const grpc::CallbackServerContext& call,
               const admin::v1::WatchLocksRequest& message);

  // Passes the gate, and begins to watch. Call it once.
  void Start();

  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override { delete this; }

 private:
  struct Page {
    bool is_full() const;

    google::protobuf::Arena arena;
    admin::v1::WatchLocksResponse* message =
        google::protobuf::Arena::CreateMessage<admin::v1::WatchLocksResponse>(&arena);
  };

  // The following run on the loop.
  void OnEvent(const core::LockEvent& event) override;
  void OnEnd(const absl::Status& why) override;
  void OnCallerGone();
  bool MaySee(const core::LockEvent& event);
  core::WallTime Now() const;
  void AdvanceAtEndOfTurn();
  void OnEndOfTurn();

  // What can be done now: write this page, or finish.
  struct Step {
    const admin::v1::WatchLocksResponse* page = nullptr;
    std::optional<absl::Status> end;
  };

  // With the mutex held.
  void Add(const core::LockEvent& event);
  void Append(const core::LockEvent& event, core::WallTime heard);
  Step TakeStep();
  // Take a step, and do it. Call them without the mutex. Afterwards this object may be gone.
  void Advance();
  void Do(const Step& step);
  void FinishWith(const absl::Status& status);

  const Edge& edge_;
  CallContext context_;
  Operation operation_;

  // Of the loop.
  bool advancing_ = false;  // At the end of this turn.
  core::WallTime turn_;     // When it heard of this turn's first event: of all of them.
  absl::Status rights_;     // Why the caller may see nothing any more.
  std::unique_ptr<core::Timer> gathered_;  // Runs if there are events that are not written yet.

  std::mutex mutex_;
  // Guarded by it.
  std::deque<std::unique_ptr<Page>>
      pages_;            // The last one is being filled; the first may be in flight.
  size_t unread_ = 0;    // Events of `pages_`.
  int64_t dropped_ = 0;  // Since `pages_` was full, until all of it has been read.
  bool writing_ = false;
  core::Instant may_write_ = core::Instant::min();  // A page that is not full, from then on.
  bool cancel_posted_ = false;                      // The loop will hear of it.
  bool caller_is_gone_ = false;
  std::optional<absl::Status> end_;  // The watch is over. OK: because the caller is gone.
  bool left_loop_ = false;           // Nothing on the loop refers to this object any more.
  bool finished_ = false;
};

}  // namespace lockkeeper::rpc
