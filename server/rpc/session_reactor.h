// SPDX-License-Identifier: Apache-2.0
//
// One session: a stream of operations to the loop, and of their answers back. What it does there is
// core/session; what waits to be sent is in the outbox; this is the stream between.
//
// It reads always, so that a client that does not read its answers still keeps its leases alive by
// heartbeats; admission bounds what waits for such a client. At most one message is on its way out:
// what is answered meanwhile goes together in the next one.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "core/session.h"
#include "google/protobuf/arena.h"
#include "grpcpp/support/server_callback.h"
#include "lockkeeper/v1/lock_service.pb.h"
#include "rpc/call_context.h"
#include "rpc/keeper_source.h"
#include "rpc/service_deps.h"
#include "rpc/session_outbox.h"
#include "rpc/session_part.h"
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
// borrows all arguments of the constructor.
// Thread-safety: gRPC calls it on its threads, the loop on its own.
class SessionReactor final
    : public grpc::ServerBidiReactor<v1::SessionRequest, v1::SessionResponse>,
      public SessionStream,
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
  // How a session ends: with a status, or because its client is gone.
  struct Ending {
    absl::Status status;
    bool cancelled = false;
  };

  // Each of these handles a message. An error ends the session.
  absl::Status Handle(const v1::SessionRequest& request);
  absl::Status Open(const v1::SessionOpen& open);
  absl::Status RunBatch(const v1::SessionBatch& batch);
  absl::Status Adopt(const v1::SessionAdopt& adopt);
  void Heartbeat(uint64_t number);
  void Close();

  void OnAnswer(const core::AnsweredOperation& operation,
                absl::StatusOr<core::SessionAnswer> answer) override;
  void OnAdopted(v1::SessionAdoptResult result) override;
  void OnBeat(core::HeartbeatAnswer answer) override;
  void OnEnded(int32_t released) override;
  void OnBroken() override;

  // Takes the session as far as it can go: sends, releases, ends. Not with the mutex held.
  void Advance() override;
  void End(Ending end);
  // The same for a client that does not read. While gRPC or the loop calls this object.
  void CutOff(const absl::Status& status);
  // With the mutex held. If it is time to finish: how, for the caller to do. Told once.
  std::optional<Ending> TakeFinish();
  // The same: whether all sessions together keep too much. Tells the registry what this one keeps.
  bool Crowded();
  void FinishWith(const Ending& end);

  void Record(const core::AnsweredOperation& operation,
              const absl::StatusOr<core::SessionAnswer>& answer);
  bool Idle() const;     // With the mutex held, like the next.
  bool Drained() const;  // Nothing is left that a client would have to take elsewhere.

  const SessionKinds& kinds_;
  const ServiceDeps& deps_;
  KeeperSource& keepers_;
  SessionRegistry& registry_;
  grpc::CallbackServerContext& call_;
  CallContext context_;

  // Of the thread that reads.
  google::protobuf::Arena request_arena_;
  v1::SessionRequest* request_;
  std::string owner_;
  bool cut_off_ = false;

  // Set by Open, with the mutex held, unless the session has ended by then.
  std::shared_ptr<SessionPart> part_;
  bool release_on_close_ = false;

  std::mutex mutex_;  // Guards the rest.
  SessionOutbox outbox_;
  int64_t kept_ = 0;  // As the registry knows it.
  bool writing_ = false;
  bool half_closed_ = false;
  enum class Closing { kNo, kWaiting, kReleasing, kDone } closing_ = Closing::kNo;
  std::optional<uint64_t> beat_;  // The number of the heartbeat that is under way.
  std::optional<uint64_t> next_beat_;
  bool part_is_alive_ = false;
  bool draining_ = false;
  std::optional<Ending> end_;  // Set once the session is ending.
  bool finished_ = false;
};

}  // namespace lockkeeper::rpc
