// SPDX-License-Identifier: Apache-2.0
//
// A call of WatchLocks, and its events one by one.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "lockkeeper/admin/v1/admin_service.grpc.pb.h"
#include "support/rpc/deadline.h"

namespace lockkeeper::support {

// Thread-safety: not thread-safe.
class WatchStream {
 public:
  // Begins to watch. Ends by itself after a minute, which fails whoever waits for an event.
  explicit WatchStream(const std::shared_ptr<grpc::Channel>& channel,
                       const admin::v1::WatchLocksRequest& request = {})
      : stub_(admin::v1::AdminService::NewStub(channel)) {
    SetDeadline(context_, std::chrono::minutes(1));
    reader_ = stub_->WatchLocks(&context_, request);
  }
  ~WatchStream() {
    if (reader_ != nullptr) End();
  }
  WatchStream(const WatchStream&) = delete;
  WatchStream& operator=(const WatchStream&) = delete;

  // The next event. Nothing if the stream has ended.
  std::optional<admin::v1::LockEvent> Next() {
    while (at_ == response_.events_size()) {
      at_ = 0;
      response_.Clear();
      if (!reader_->Read(&response_)) return std::nullopt;
    }
    return response_.events(at_++);
  }

  // "granted n ada", "gap": kind, name and owner of the next event. "" if the stream has ended.
  std::string NextAsText() {
    const auto event = Next();
    if (!event) return "";
    constexpr std::string_view kPrefix = "LOCK_EVENT_KIND_";
    std::string text = admin::v1::LockEventKind_Name(event->kind()).substr(kPrefix.size());
    for (char& letter : text) letter = static_cast<char>(std::tolower(letter));
    if (!event->name().empty()) text += " " + event->name();
    if (!event->owner().empty()) text += " " + event->owner();
    return text;
  }

  // Cancels the call, if it still runs. How it ended.
  grpc::Status End() {
    context_.TryCancel();
    return Finish();
  }

  // How it ended. Requires: it has.
  grpc::Status Finish() {
    const grpc::Status status = reader_->Finish();
    reader_.reset();
    return status;
  }

 private:
  std::unique_ptr<admin::v1::AdminService::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<admin::v1::WatchLocksResponse>> reader_;
  admin::v1::WatchLocksResponse response_;
  int at_ = 0;
};

}  // namespace lockkeeper::support
