// SPDX-License-Identifier: Apache-2.0
//
// A server that starts when a row asks for it first: who measures other rows need not have it.
#pragma once

#include <memory>

namespace lockkeeper::bench {

// Thread-safety: not thread-safe.
template <typename Server>
class OnDemand {
 public:
  Server& Get() {
    if (server_ == nullptr) server_ = std::make_unique<Server>();
    return *server_;
  }

  // Processor time that it has used so far.
  double CpuSeconds() const { return server_ == nullptr ? 0 : server_->CpuSeconds(); }

 private:
  std::unique_ptr<Server> server_;
};

}  // namespace lockkeeper::bench
