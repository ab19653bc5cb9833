// SPDX-License-Identifier: Apache-2.0
#include "transport/watch_operations.h"

#include <grpcpp/client_context.h>
#include <grpcpp/support/client_callback.h>

#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "acquire/retry_rule.h"
#include "transport/call_options.h"
#include "transport/convert.h"
#include "transport/status_details.h"

namespace lockkeeper::client {
namespace {

// A daemon that does not know the rpc, or a proxy that does not let it through, may be good for all
// other calls, so that is not an error of the connection.
absl::Status StatusOfWatching(const grpc::Status& status, const std::string& address) {
  if (status.error_code() != grpc::StatusCode::UNIMPLEMENTED) {
    return StatusOfUncancelled(status, address);
  }
  return absl::UnimplementedError("no locks can be watched at " + address + ": " +
                                  status.error_message());
}

class GrpcWatchStream final : public WatchStream,
                              public grpc::ClientReadReactor<admin::v1::WatchLocksResponse>,
                              public std::enable_shared_from_this<GrpcWatchStream> {
 public:
  GrpcWatchStream(const Channels::Endpoint& daemon, const std::string& name, WatchListener listener)
      : daemon_(daemon), listener_(std::move(listener)) {
    request_.set_name(name);
  }

  void Read() override {
    bool begins = false;
    bool is_too_late = false;
    {
      const std::lock_guard lock(mutex_);
      if (let_go_) return;
      is_too_late = let_go_ = cancelled_ && !begun_;
      if (!is_too_late) begins = !std::exchange(begun_, true);
      reading_ = !is_too_late;
    }
    if (is_too_late) return End(absl::CancelledError("cancelled before it began"));
    if (begins) Begin();
    StartRead(&response_);
    if (begins) StartCall();
  }

  void Cancel() override {
    bool lets_go = false;
    {
      const std::lock_guard lock(mutex_);
      cancelled_ = true;
      if (context_) context_->TryCancel();
      lets_go = begun_ && !reading_ && !std::exchange(let_go_, true);
    }
    if (lets_go) RemoveHold();
  }

  void OnReadDone(bool ok) override {
    bool lets_go = false;
    {
      const std::lock_guard lock(mutex_);
      reading_ = false;
      if (!ok || cancelled_) lets_go = !std::exchange(let_go_, true);
    }
    if (lets_go) return RemoveHold();
    std::vector<LockEvent> events;
    for (const auto& event : response_.events()) events.push_back(FromProto(event));
    listener_.on_events(events);
  }

  void OnDone(const grpc::Status& status) override {
    {
      // A context keeps its channel alive, see UnaryTransport.
      const std::lock_guard lock(mutex_);
      context_.reset();
    }
    const auto self = std::move(self_);
    if (status.ok()) return End(absl::UnavailableError(daemon_.address + " ended the watch"));
    End(StatusOfWatching(status, daemon_.address));
  }

 private:
  void Begin() {
    self_ = shared_from_this();
    if (daemon_.token != nullptr) daemon_.token->AddTo(*context_);
    daemon_.observers->async()->WatchLocks(&*context_, &request_, this);
    AddHold();  // Because reads do not only come from its own callbacks.
  }

  void End(const absl::Status& why) { std::exchange(listener_, {}).on_end(why); }

  const Channels::Endpoint& daemon_;
  WatchListener listener_;
  std::shared_ptr<GrpcWatchStream> self_;  // While gRPC calls it.
  admin::v1::WatchLocksRequest request_;
  admin::v1::WatchLocksResponse response_;
  std::mutex mutex_;
  std::optional<grpc::ClientContext> context_{std::in_place};  // Guarded by mutex_, as all below.
  bool begun_ = false;
  bool reading_ = false;
  bool cancelled_ = false;
  bool let_go_ = false;  // Nothing is read any more.
};

class GrpcLookCall final : public LookCall, public std::enable_shared_from_this<GrpcLookCall> {
 public:
  GrpcLookCall(const Channels::Endpoint& daemon, const std::string& name, Done done)
      : daemon_(daemon), done_(std::move(done)) {
    request_.set_name(name);
  }

  void Begin() override {
    SetTimeout(*context_, kTryTimeout);
    if (daemon_.token != nullptr) daemon_.token->AddTo(*context_);
    // A cancel that came before counts, too: gRPC keeps it until the call begins.
    daemon_.observers->async()->GetLock(
        &*context_, &request_, &response_,
        [self = shared_from_this()](const grpc::Status& status) { self->End(status); });
  }

  void Cancel() override {
    const std::lock_guard lock(mutex_);
    if (context_) context_->TryCancel();
  }

 private:
  void End(const grpc::Status& status) {
    {
      const std::lock_guard lock(mutex_);
      context_.reset();
    }
    auto done = std::move(done_);
    if (status.ok()) return std::move(done)(FromProto(response_));
    std::move(done)(StatusOfWatching(status, daemon_.address));
  }

  const Channels::Endpoint& daemon_;
  Done done_;
  admin::v1::GetLockRequest request_;
  admin::v1::GetLockResponse response_;
  std::mutex mutex_;
  std::optional<grpc::ClientContext> context_{std::in_place};  // Guarded by mutex_.
};

}  // namespace

std::shared_ptr<WatchStream> WatchOperations::NewWatch(size_t daemon, const std::string& name,
                                                       WatchListener listener) {
  return std::make_shared<GrpcWatchStream>(daemons_.endpoint(daemon), name, std::move(listener));
}

std::shared_ptr<LookCall> WatchOperations::NewLook(size_t daemon, const std::string& name,
                                                   LookCall::Done done) {
  return std::make_shared<GrpcLookCall>(daemons_.endpoint(daemon), name, std::move(done));
}

}  // namespace lockkeeper::client
