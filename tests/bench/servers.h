// SPDX-License-Identifier: Apache-2.0
//
// The servers that the rows put a load on. All run from the first row to the last, those of others
// from the first row that needs them, and are idle while another one is measured, so that rows can
// take turns.
#pragma once

#include "bench/echo_server.h"
#include "bench/on_demand.h"
#include "bench/peers/etcd.h"
#include "bench/peers/postgres.h"
#include "bench/service.h"
#include "support/process/redis_server.h"

namespace lockkeeper::bench {

// Errors: throws std::runtime_error. Thread-safety: not thread-safe, see ChildProcess.
class Servers {
 public:
  // A service on a Redis without persistence.
  const Service& service() const { return service_; }
  const support::RedisServer& redis() const { return service_.redis(); }
  const EchoServer& echo() const { return echo_; }

  SecuredEchoServer& secured_echo() { return secured_echo_.Get(); }
  DurableService& durable() { return durable_.Get(); }
  TcpService& tcp() { return tcp_.Get(); }
  TlsService& tls() { return tls_.Get(); }
  ClusterService& cluster() { return cluster_.Get(); }
  ReplicatedService& replicated() { return replicated_.Get(); }
  ConfirmedService& confirmed() { return confirmed_.Get(); }
  AuditedService& audited() { return audited_.Get(); }
  TracedService& traced() { return traced_.Get(); }
  FullyTracedService& fully_traced() { return fully_traced_.Get(); }
  ObservedService& observed() { return observed_.Get(); }
  SecuredService& secured() { return secured_.Get(); }
  EtcdServer& etcd() { return etcd_.Get(); }
  PostgresServer& postgres() { return postgres_.Get(); }

  // Processor time that all of them have used so far.
  double CpuSeconds() const;

 private:
  RedisService service_;
  EchoServer echo_;
  OnDemand<SecuredEchoServer> secured_echo_;
  OnDemand<DurableService> durable_;
  OnDemand<TcpService> tcp_;
  OnDemand<TlsService> tls_;
  OnDemand<ClusterService> cluster_;
  OnDemand<ReplicatedService> replicated_;
  OnDemand<ConfirmedService> confirmed_;
  OnDemand<AuditedService> audited_;
  OnDemand<TracedService> traced_;
  OnDemand<FullyTracedService> fully_traced_;
  OnDemand<ObservedService> observed_;
  OnDemand<SecuredService> secured_;
  OnDemand<EtcdServer> etcd_;
  OnDemand<PostgresServer> postgres_;
};

}  // namespace lockkeeper::bench
