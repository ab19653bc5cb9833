// SPDX-License-Identifier: Apache-2.0
//
// The rpcs WatchLocks and GetLock, over gRPC.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "observe/watch_calls.h"
#include "transport/daemons.h"

namespace lockkeeper::client {

// Completion: on gRPC's threads. Lifetime: borrows `daemons`; so do the calls until they have
// ended.
class WatchOperations final : public WatchCalls {
 public:
  explicit WatchOperations(Daemons& daemons) : daemons_(daemons) {}

  size_t size() const override { return daemons_.size(); }
  size_t current() const override { return daemons_.current(); }
  void Failed(size_t daemon, const absl::Status& why) override { daemons_.Failed(daemon, why); }

  std::shared_ptr<WatchStream> NewWatch(size_t daemon, const std::string& name,
                                        WatchListener listener) override;
  std::shared_ptr<LookCall> NewLook(size_t daemon, const std::string& name,
                                    LookCall::Done done) override;

 private:
  Daemons& daemons_;
};

}  // namespace lockkeeper::client
