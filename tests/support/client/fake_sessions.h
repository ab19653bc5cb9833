// SPDX-License-Identifier: Apache-2.0
//
// The sessions of a service of a test: each operation is answered on a thread of its own.
#pragma once

#include <grpcpp/support/sync_stream.h>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <set>

#include "lockkeeper/v1/lock_service.grpc.pb.h"
#include "support/client/fake_call.h"

namespace lockkeeper::support {

// Thread-safety: thread-safe.
class FakeSessions {
 public:
  using Stream = grpc::ServerReaderWriter<v1::SessionResponse, v1::SessionRequest>;
  using Answer =
      std::function<grpc::Status(const FakeCall&, const v1::SessionOperation&, v1::SessionResult*)>;

  // Serves one stream to its end.
  grpc::Status Serve(grpc::ServerContext& context, Stream& stream, const Answer& answer);

  // Ends those that are open, as a proxy does that has had enough of them.
  void Cut();
  // Ends all that are opened from now on at once.
  void CutAll();
  // Tells those that are open that the daemon stops.
  void Drain();

  // How many were opened so far, and how many are open.
  size_t opened() const;
  size_t open() const;
  // Waits until so many were opened, or are open. False if they are not within a minute.
  bool WaitForOpened(size_t count) const;
  bool WaitForOpen(size_t count) const;

 private:
  class One;

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::set<One*> open_;  // Guarded by mutex_, as all below.
  size_t opened_ = 0;
  bool cut_all_ = false;
};

}  // namespace lockkeeper::support
