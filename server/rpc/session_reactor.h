// SPDX-License-Identifier: Apache-2.0
//
// One session: the stream between its client and core/session, which does the work on the loop. How
// far the session has come is in SessionProgress.
//
// It reads always, so that a client that does not read its answers still keeps its leases alive by
// heartbeats; admission bounds what waits for such a client. At most one message is on its way out:
// what is answered meanwhile goes together in the next one.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "core/session.h"
#include "google/protobuf/arena.h"
#include "grpcpp/support/server_callback.h"
#include "lockkeeper/v1/lock_service.pb.h"
#include "rpc/call_context.h"
#include "rpc/keeper_source.h"
#include "rpc/service_deps.h"
#include "rpc/session_progress.h"
#include "rpc/session_registry.h"

namespace lockkeeper::rpc {

// Whose metrics sessions and their operations count in.
struct SessionKinds {
  const RpcKind& session;
  const RpcKind& acquire;
  const RpcKind& extend;
  const RpcKind& release;
  const RpcKind& fence;

  const RpcKind& Of(core::OperationKind kind) const {
    switch (kind) {
      case core::OperationKind::kAcquire:
        return acquire;
      case core::OperationKind::kExtend:
        return extend;
      case core::OperationKind::kRelease:
        return release;
      case core::OperationKind::kFence:
        break;
    }
    return fence;
  }
};

// Ownership: deletes itself when gRPC is done with it, which is after the loop is. Lifetime:
// borrows all arguments of the constructor. Thread-safety: gRPC calls it on its threads, the loop
// on its own.
class SessionReactor final
    : public grpc::ServerBidiReactor<v1::SessionRequest, v1::SessionResponse>,
      public core::SessionListener,
      public DrainListener {
 public:
  SessionReactor(const SessionKinds& kinds, const ServiceDeps& deps, KeeperSource& keepers,
                 SessionRegistry& registry, grpc::CallbackServerContext& context);
  ~SessionReactor() override;
  SessionReactor(const SessionReactor&) = delete;
  SessionReactor& operator=(const SessionReactor&) = delete;

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override { delete this; }
  void OnDraining(core::Millis remaining) override;

 private:
  // Each of these handles a message, on the thread that reads. An error ends the session.
  absl::Status Handle(const v1::SessionRequest& request);
  absl::Status Open(const v1::SessionOpen& open);
  absl::Status RunBatch(const v1::SessionBatch& batch);
  absl::Status TakePlaces(const v1::SessionBatch& batch, int& taken);
  absl::Status Adopt(const v1::SessionAdopt& adopt);
  void Heartbeat(uint64_t number);
  void Close();

  // Runs `task` on the loop, after tasks posted before, unless the session is ending. Afterwards
  // the stream sends what was answered in that turn.
  template <typename Task>
  void Post(Task task);
  // The following on the loop.
  void OnAnswer(const core::AnsweredOperation& operation,
                absl::StatusOr<core::SessionAnswer> answer) override;
  void OnAdopted(v1::SessionAdoptResult result);
  void Beat();
  void ReleaseAll();
  void OnReleased(int32_t released);
  void AdvanceAtEndOfTurn();
  void OnEndOfTurn();
  void CountLeases(size_t leases);  // With the mutex held.

  // Takes the session as far as it can go. Not with the mutex held.
  void Advance();
  void Do(const SessionProgress::Step& step);
  void End(SessionEnding ending);
  // The same for a client that does not read. While gRPC or the loop calls this object.
  void CutOff(const absl::Status& status);
  void FinishWith(const SessionEnding& ending);

  const SessionKinds& kinds_;
  const ServiceDeps& deps_;
  KeeperSource& keepers_;
  SessionRegistry& registry_;
  grpc::CallbackServerContext& call_;
  CallContext context_;
  const telemetry::Gauge leases_of_all_;

  // Of the thread that reads.
  google::protobuf::Arena request_arena_;
  v1::SessionRequest* request_;
  std::string owner_;
  bool cut_off_ = false;

  // Set by Open, with the mutex held, unless the session has ended by then; used on the loop.
  std::shared_ptr<core::Session> session_;
  bool release_on_close_ = false;

  // Of the loop.
  bool advancing_ = false;  // At the end of this turn.
  bool broken_ = false;     // Nothing more comes from core.

  std::mutex mutex_;
  SessionProgress progress_;  // Guarded by it.
};

}  // namespace lockkeeper::rpc
