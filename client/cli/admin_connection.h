// SPDX-License-Identifier: Apache-2.0
//
// The connection of the commands that look at locks and break them.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"

namespace lockkeeper::cli {

// Thread-safety: thread-compatible.
class AdminConnection {
 public:
  // Connects to the first of `addresses` that can be reached. Calls go there and nowhere else,
  // since a forced release must not be sent twice. Errors: UNAVAILABLE naming the addresses.
  static absl::StatusOr<AdminConnection> Connect(const std::vector<std::string>& addresses);

  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }

  // Makes one call; it ends after a few seconds.
  static absl::Status Call(absl::FunctionRef<grpc::Status(grpc::ClientContext&)> call);

 private:
  explicit AdminConnection(std::shared_ptr<grpc::Channel> channel);

  std::shared_ptr<grpc::Channel> channel_;
};

}  // namespace lockkeeper::cli
