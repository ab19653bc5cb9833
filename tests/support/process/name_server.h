// SPDX-License-Identifier: Apache-2.0
//
// A name server of the test's own: every name has the addresses that the test says, as the name of
// a headless Service has those of its pods.
#pragma once

#include <netinet/in.h>

#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "os/descriptor.h"

namespace lockkeeper::support {

// Errors: throws std::system_error. Thread-safety: thread-safe, but for destroying.
class NameServer {
 public:
  NameServer();
  ~NameServer();
  NameServer(const NameServer&) = delete;
  NameServer& operator=(const NameServer&) = delete;

  // The addresses of every name from now on, IPv4. Each answer begins with another one, as the name
  // servers of Kubernetes do.
  void Publish(const std::vector<std::string>& addresses);

  // For gRPC: a name that is asked of this server, and the port behind it.
  std::string TargetOf(uint16_t port) const;

 private:
  void Serve();
  std::string AnswerTo(const std::string& query);

  os::Descriptor socket_;
  os::Descriptor stop_;
  uint16_t port_ = 0;
  std::mutex mutex_;
  std::vector<in_addr> addresses_;  // Guarded by mutex_.
  std::thread thread_;
};

}  // namespace lockkeeper::support
