// SPDX-License-Identifier: Apache-2.0
//
// The connection of the commands that look at locks and break them.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "cli/arguments.h"
#include "transport/token_file.h"

namespace lockkeeper::cli {

// Thread-safety: thread-compatible, but for Cancel().
class AdminConnection {
 public:
  // Connects to the first server that can be reached. All calls go there, since a forced release
  // must not be sent twice. Errors: UNAVAILABLE, which says what is wrong with each server;
  // INVALID_ARGUMENT if the file of the token cannot be read.
  static absl::StatusOr<AdminConnection> Connect(const Service& service);

  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }

  const std::string& address() const { return address_; }

  // Another one to the same server, for calls on another thread.
  AdminConnection Another() const { return {channel_, address_, token_, timeout_}; }

  // Makes one call, with the timeout of the service.
  absl::Status Call(absl::FunctionRef<grpc::Status(grpc::ClientContext&)> call);

  // The same for a call that goes on until it fails or is cancelled.
  absl::Status CallWithoutEnd(absl::FunctionRef<grpc::Status(grpc::ClientContext&)> call);

  // Ends the call under way, if there is one, and all later ones. Thread-safety: thread-safe.
  void Cancel();

 private:
  AdminConnection(std::shared_ptr<grpc::Channel> channel, std::string address,
                  std::shared_ptr<client::TokenFile> token, milliseconds timeout)
      : channel_(std::move(channel)),
        address_(std::move(address)),
        token_(std::move(token)),
        timeout_(timeout) {}

  absl::Status Call(grpc::ClientContext& context,
                    absl::FunctionRef<grpc::Status(grpc::ClientContext&)> call);

  std::shared_ptr<grpc::Channel> channel_;
  std::string address_;
  std::shared_ptr<client::TokenFile> token_;  // Null without a token.
  milliseconds timeout_;

  struct UnderWay {
    std::mutex mutex;  // Guards the next two.
    grpc::ClientContext* call = nullptr;
    bool cancelled = false;
  };
  std::unique_ptr<UnderWay> under_way_ = std::make_unique<UnderWay>();
};

}  // namespace lockkeeper::cli
