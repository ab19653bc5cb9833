// SPDX-License-Identifier: Apache-2.0
//
// An etcd of our own: one node, fresh data, settings as they come; so it writes to disk before it
// answers.
#pragma once

#include <memory>
#include <string>

#include "bench/peers/peer.h"
#include "support/process/child_process.h"
#include "support/process/temporary_directory.h"

namespace lockkeeper::bench {

Peer EtcdPeer();

// Errors: throws std::runtime_error. Thread-safety: not thread-safe, see ChildProcess.
class EtcdServer {
 public:
  // Starts it on ports that the system chooses, and waits until it is healthy.
  EtcdServer();

  const std::string& address() const { return address_; }
  double CpuSeconds() const;

 private:
  void Start();
  bool BecomesHealthy();

  support::TemporaryDirectory directory_;
  std::string address_;
  std::unique_ptr<support::ChildProcess> process_;
};

}  // namespace lockkeeper::bench
