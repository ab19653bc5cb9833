// SPDX-License-Identifier: Apache-2.0
//
// One session: the stream between its client and core/session, which does the work on the loop.
// SessionProgress is its state machine. session_reactor.cc has the stream and its end,
// session_messages.cc the client's messages and their answers.
//
// It reads on while answers wait, so that a client that does not read them still keeps its leases
// alive by heartbeats; admission bounds what waits for such a client. It only stops for what has no
// answer: until the loop has carried out some of it. At most one message to the client is in
// flight; answers that come meanwhile share the next one.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/session.h"
#include "google/protobuf/arena.h"
#include "grpcpp/support/server_callback.h"
#include "lockkeeper/v1/lock_service.pb.h"
#include "rpc/call_context.h"
#include "rpc/operation.h"
#include "rpc/session_progress.h"
#include "rpc/session_registry.h"

namespace lockkeeper::rpc {

// Ownership: deletes itself when gRPC is done with it, which is after the loop is. Lifetime:
// borrows all arguments of the constructor. Thread-safety: gRPC calls it on its threads, the loop
// on its own.
class SessionReactor final
    : public grpc::ServerBidiReactor<v1::SessionRequest, v1::SessionResponse>,
      public core::SessionListener,
      public DrainListener {
 public:
  SessionReactor(const Edge& edge, SessionRegistry& registry, grpc::CallbackServerContext& call);
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
  absl::Status Handle(const v1::SessionRequest& message);
  absl::Status Open(const v1::SessionOpen& open);
  absl::Status RunBatch(const v1::SessionBatch& batch);
  absl::Status TakePlaces(const v1::SessionBatch& batch, int& taken);
  absl::Status Admit(const v1::SessionOperation& message, Operation& operation);
  void Reject(const v1::SessionOperation& message, const Operation& operation,
              const absl::Status& why);
  absl::Status Adopt(const v1::SessionAdopt& adopt);
  absl::Status Forget(const v1::SessionForget& forget);
  void Heartbeat(uint64_t number);
  void Close();
  void ReadNext();

  // Runs `task` on the loop, after tasks posted before, unless the session is ending. Afterwards
  // the stream sends what was answered in that turn.
  // End() posts last, in turn too, so a task finds this object: it lives until the loop has run
  // that.
  template <typename Task>
  void Post(Task task) {
    const std::lock_guard lock(mutex_);
    if (progress_.ending()) return;
    edge_.deps.loop.Post([this, task = std::move(task)]() mutable {
      task();
      AdvanceAtEndOfTurn();
    });
  }
  // The same when it is the turn of the session's principal.
  template <typename Task>
  void PostInTurn(Task task) {
    Post([this, task = std::move(task)]() mutable {
      edge_.fair_share.Run(context_.caller().principal(), std::move(task));
    });
  }
  // The same for what has no answer.
  template <typename Task>
  void PostNote(Task task) {
    {
      const std::lock_guard lock(mutex_);
      progress_.StartNote();
    }
    PostInTurn([this, task = std::move(task)]() mutable {
      task();
      OnNoteDone();
    });
  }
  // The following run on the loop.
  void OnNoteDone();
  void OnAnswer(const core::AnsweredOperation& operation,
                absl::StatusOr<core::SessionAnswer> answer) override;
  void OnKeptReleased(std::string_view lock_name, core::FencingToken token) override;
  void Record(const core::AnsweredOperation& operation, const core::Lease* lease,
              const absl::StatusOr<core::SessionAnswer>& answer);
  // For what is answered by other messages than the result of an operation.
  void Audit(Verb verb, Subject subject, const absl::Status& status);
  void OnAdopted(v1::SessionAdoptResult result);
  void Beat();
  void ReleaseAll();
  void OnReleased(int32_t released);
  void AskToMoveLater();
  void AdvanceAtEndOfTurn();
  void OnEndOfTurn();
  void CountLeases(size_t leases);  // With the mutex held.
  // What the operation holds is given back when it is answered, or when the session ends.
  void KeepHolds(Operation& operation);

  // Does all that can be done now. Call it without the mutex.
  void Advance();
  void Do(const SessionProgress::Step& step);
  void End(SessionEnding ending);
  // The same for a client that does not read. While gRPC or the loop calls this object.
  void CutOff(const absl::Status& status);
  void FinishWith(const SessionEnding& ending);

  const Edge& edge_;
  SessionRegistry& registry_;
  grpc::CallbackServerContext& call_;
  CallContext context_;
  const telemetry::Gauge leases_of_all_;
  const telemetry::Counter leases_lost_;
  const telemetry::Histogram heartbeat_times_;

  // Of the thread that reads.
  google::protobuf::Arena request_arena_;
  v1::SessionRequest* request_;
  std::string owner_;
  bool cut_off_ = false;
  access::Usage::Hold hold_;  // As a session of its principal.

  // Set by Open, with the mutex held, unless the session has ended by then; used on the loop.
  std::shared_ptr<core::Session> session_;
  bool release_on_close_ = false;

  // Of the loop.
  bool advancing_ = false;  // At the end of this turn.
  bool broken_ = false;     // Nothing more comes from core.
  std::unique_ptr<core::Timer> move_timer_;
  // Of acquires, by their keepers: a client may use a number again that an acquire still has.
  std::unordered_map<core::Keeper, Holds, core::HashOfHexId> holds_;

  std::mutex mutex_;
  SessionProgress progress_;  // Guarded by it.
};

}  // namespace lockkeeper::rpc
