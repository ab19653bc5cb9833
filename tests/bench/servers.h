// SPDX-License-Identifier: Apache-2.0
//
// The servers that the rows put a load on. All run from the first row to the last, those of others
// from the first row that needs them, and are idle while another one is measured, so that rows can
// take turns.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "bench/on_demand.h"
#include "bench/peers/etcd.h"
#include "bench/peers/postgres.h"
#include "support/process/child_process.h"
#include "support/process/daemon_process.h"
#include "support/process/redis_server.h"
#include "support/process/temporary_directory.h"

namespace lockkeeper::bench {

// The program `name` of this build.
std::string ProgramPath(const std::string& name);

// A daemon on `redis`; its addresses are chosen by the system. Not yet ready.
support::DaemonProcessOptions DaemonOn(const support::RedisServer& redis);

// Errors: throws std::runtime_error. Thread-safety: not thread-safe, see ChildProcess.
class Servers {
 public:
  // A Redis without persistence on a unix socket, a daemon on it, and an echo.
  Servers();

  const support::RedisServer& redis() const { return redis_; }
  const support::DaemonProcess& daemon() const { return daemon_; }
  pid_t echo() const { return echo_->pid(); }
  const std::string& echo_address() const { return echo_address_; }

  EtcdServer& etcd() { return etcd_.Get(); }
  PostgresServer& postgres() { return postgres_.Get(); }

  // Processor time that all of them have used so far.
  double CpuSeconds() const;

 private:
  void StartEcho();

  support::RedisServer redis_;
  support::DaemonProcess daemon_;
  support::TemporaryDirectory directory_;
  std::unique_ptr<support::ChildProcess> echo_;
  std::string echo_address_;
  OnDemand<EtcdServer> etcd_;
  OnDemand<PostgresServer> postgres_;
};

}  // namespace lockkeeper::bench
