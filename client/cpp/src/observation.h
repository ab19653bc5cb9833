// SPDX-License-Identifier: Apache-2.0
//
// The inside of a LeaderObserver.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "client_core.h"
#include "lockkeeper/leader_observer.h"
#include "observe/leader_watch.h"
#include "renewal/callback_thread.h"

namespace lockkeeper::client {

// Contract: see LeaderObserver.
class Observation {
 public:
  // Begins to observe the lock `name`. Requires: not empty.
  Observation(std::shared_ptr<ClientCore> core, std::string name, ObserveOptions options);
  ~Observation();
  Observation(const Observation&) = delete;
  Observation& operator=(const Observation&) = delete;

  std::optional<Leader> leader() const { return watch_->leader(); }
  void Close() { watch_->Close(); }

 private:
  const std::shared_ptr<ClientCore> core_;
  const ObserveOptions options_;
  // Not the client's: a slow caller must not hold up what is told of leases.
  std::optional<CallbackThread> callbacks_{std::in_place};
  const std::shared_ptr<LeaderWatch> watch_;
};

}  // namespace lockkeeper::client
