// SPDX-License-Identifier: Apache-2.0
//
// The watches of a fake service. A test says what they tell.
#pragma once

#include <grpcpp/support/sync_stream.h>

#include <condition_variable>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lockkeeper/admin/v1/admin_service.grpc.pb.h"
#include "support/client/fake_call.h"

namespace lockkeeper::support {

// Thread-safety: thread-safe.
class FakeWatches {
 public:
  using Stream = grpc::ServerWriter<admin::v1::WatchLocksResponse>;

  // Serves one stream to its end.
  grpc::Status Serve(grpc::ServerContext& context, const admin::v1::WatchLocksRequest& request,
                     Stream& stream);

  // Tells the open watches of an event.
  void Say(admin::v1::LockEventKind kind, int64_t token = 0, const std::string& owner = "");
  // Ends the open watches.
  void End(const grpc::Status& status);
  // Ends each watch that is opened from now on.
  void EndAll(const grpc::Status& status);

  // The requests so far, oldest first, and the `authorization` that came with them.
  std::vector<admin::v1::WatchLocksRequest> seen() const;
  std::vector<std::string> authorizations() const;
  // Waits until so many were opened, or are open. False if they are not within a minute.
  bool WaitForOpened(size_t count) const;
  bool WaitForOpen(size_t count) const;

 private:
  struct One;

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::set<One*> open_;  // Guarded by mutex_, as all below.
  std::vector<admin::v1::WatchLocksRequest> seen_;
  std::vector<std::string> authorizations_;
  std::optional<grpc::Status> end_all_;
};

}  // namespace lockkeeper::support
