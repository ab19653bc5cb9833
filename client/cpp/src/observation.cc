// SPDX-License-Identifier: Apache-2.0
#include "observation.h"

#include <utility>

namespace lockkeeper::client {

Observation::Observation(std::shared_ptr<ClientCore> core, std::string name, ObserveOptions options)
    : core_(std::move(core)),
      options_(std::move(options)),
      watch_(std::make_shared<LeaderWatch>(
          core_->watch_ports(), std::move(name), options_,
          [this](auto callback) { callbacks_->Post(std::move(callback)); })) {
  watch_->Start();
}

Observation::~Observation() {
  watch_->Close();
  callbacks_.reset();  // Waits for the callback that runs.
  watch_->WaitUntilGone();
}

}  // namespace lockkeeper::client
