// SPDX-License-Identifier: Apache-2.0
//
// lockkeeper as the rows measure it: a daemon, and a Redis of its own.
#pragma once

#include <string>

#include "support/process/daemon_process.h"
#include "support/process/redis_server.h"

namespace lockkeeper::bench {

// The program `name` of this build.
std::string ProgramPath(const std::string& name);

// A daemon on `redis`; its addresses are chosen by the system. Not yet ready.
support::DaemonProcessOptions DaemonOn(const support::RedisServer& redis);

// Errors: throws std::runtime_error. Thread-safety: not thread-safe, see ChildProcess.
class Service {
 public:
  // Starts both and waits until they are ready. Redis listens on a unix socket.
  explicit Service(support::Durability durability = support::Durability::kNone);

  const support::RedisServer& redis() const { return redis_; }
  const support::DaemonProcess& daemon() const { return daemon_; }

  // Processor time that both have used so far.
  double CpuSeconds() const;

 private:
  support::RedisServer redis_;
  support::DaemonProcess daemon_;
};

// Redis writes to disk before it answers.
class DurableService : public Service {
 public:
  DurableService() : Service(support::Durability::kDiskAlways) {}
};

}  // namespace lockkeeper::bench
