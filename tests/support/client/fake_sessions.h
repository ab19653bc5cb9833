// SPDX-License-Identifier: Apache-2.0
//
// The sessions of a fake service: each operation is answered on its own thread.
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

  // Ends the open sessions, as a proxy does that cuts long streams.
  void Cut();
  // Ends at once every session that is opened from now on.
  void CutAll();
  // Tells the open sessions that the daemon drains.
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
