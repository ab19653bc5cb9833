// SPDX-License-Identifier: Apache-2.0
#include "transport/grpc_session_stream.h"

#include <grpcpp/client_context.h>
#include <grpcpp/support/client_callback.h>

#include <mutex>
#include <optional>
#include <utility>

#include "transport/status_details.h"

namespace lockkeeper::client {
namespace {

class GrpcSessionStream final
    : public SessionStream,
      public grpc::ClientBidiReactor<v1::SessionRequest, v1::SessionResponse>,
      public std::enable_shared_from_this<GrpcSessionStream> {
 public:
  GrpcSessionStream(const Channels::Endpoint& daemon, std::shared_ptr<SessionEvents> events)
      : stub_(*daemon.sessions), events_(std::move(events)) {
    if (daemon.token != nullptr) daemon.token->AddTo(*context_);
  }

  void Begin(const v1::SessionRequest& first) override {
    self_ = shared_from_this();
    stub_.async()->Session(&*context_, this);
    AddHold();  // Because writes do not only come from its own callbacks.
    StartWrite(&first);
    StartRead(&response_);
    StartCall();
  }

  void Write(const v1::SessionRequest& message) override { StartWrite(&message); }
  void CloseWrites() override { StartWritesDone(); }
  void LetGo() override { RemoveHold(); }

  void Cancel() override {
    const std::lock_guard lock(mutex_);
    if (context_) context_->TryCancel();
  }

  void OnReadDone(bool ok) override {
    if (!ok) return events_->OnUnreadable();
    events_->OnMessage(response_);
    StartRead(&response_);
  }

  void OnWriteDone(bool ok) override { events_->OnWritten(ok); }
  void OnWritesDoneDone(bool ok) override { events_->OnWritten(ok); }

  void OnDone(const grpc::Status& status) override {
    {
      // A context keeps its channel alive, see UnaryTransport.
      const std::lock_guard lock(mutex_);
      context_.reset();
    }
    const auto self = std::move(self_);
    const auto events = std::move(events_);
    events->OnEnded(StatusFromGrpc(status));
  }

 private:
  Channels::Stub& stub_;
  std::shared_ptr<SessionEvents> events_;
  std::shared_ptr<GrpcSessionStream> self_;  // While gRPC calls it.
  v1::SessionResponse response_;
  std::mutex mutex_;
  std::optional<grpc::ClientContext> context_{std::in_place};  // Guarded by mutex_.
};

}  // namespace

std::shared_ptr<SessionStream> NewSessionStream(const Channels::Endpoint& daemon,
                                                std::shared_ptr<SessionEvents> events) {
  return std::make_shared<GrpcSessionStream>(daemon, std::move(events));
}

}  // namespace lockkeeper::client
