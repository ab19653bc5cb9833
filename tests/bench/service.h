// SPDX-License-Identifier: Apache-2.0
//
// lockkeeper as the rows measure it: a daemon, and a Redis or a Redis Cluster of its own.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "support/otlp/fake_collector.h"
#include "support/process/cluster_set.h"
#include "support/process/daemon_process.h"
#include "support/process/redis_server.h"
#include "support/process/temporary_directory.h"
#include "support/tls/test_authority.h"

namespace lockkeeper::bench {

// The program `name` of this build.
std::string ProgramPath(const std::string& name);

using Variables = std::vector<std::pair<std::string, std::string>>;

// bench_load with what it needs to put the load `kind` on a daemon and to look at both processes.
std::vector<std::string> WatchedLoad(const std::string& kind, const support::DaemonProcess& daemon,
                                     const support::RedisServer& redis);

// A daemon on the Redis at `url`; its addresses are chosen by the system. Not yet ready. `more` are
// settings besides ours.
support::DaemonProcessOptions DaemonOn(const std::string& url, const Variables& more = {},
                                       const std::string& listen = "127.0.0.1:0");

// Errors: throws std::runtime_error. Thread-safety: not thread-safe, see ChildProcess.
class Service {
 public:
  virtual ~Service() = default;
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  const support::DaemonProcess& daemon() const { return daemon_; }

  // Processor time that the servers of the store have used so far.
  virtual double StoreCpuMicros() const = 0;

  // The same of all processes.
  double CpuSeconds() const;

  // What bench_load needs to be let in, besides the address.
  const std::vector<std::string>& client_words() const { return client_words_; }

 protected:
  // Starts the daemon on the store at `url` and waits until it is ready.
  Service(const std::string& url, const Variables& daemon, const std::string& listen,
          std::vector<std::string> client_words);

 private:
  support::DaemonProcess daemon_;
  const std::vector<std::string> client_words_;
};

// On one Redis, which listens on a unix socket.
struct RedisPlace {
  support::RedisServer redis;
};
class RedisService : private RedisPlace, public Service {
 public:
  explicit RedisService(support::Durability durability = support::Durability::kNone)
      : RedisService({.durability = durability}, {}) {}

  const support::RedisServer& redis() const { return RedisPlace::redis; }
  double StoreCpuMicros() const override;

 protected:
  // The daemon reaches Redis by what it listens on besides the unix socket.
  RedisService(const support::RedisServerOptions& redis, const Variables& daemon,
               const std::string& listen = "127.0.0.1:0",
               std::vector<std::string> client_words = {});
};

// On a Redis Cluster of three primaries, over TCP in the clear.
struct ClusterPlace {
  support::ClusterSet cluster{{.durability = support::Durability::kNone}};
};
class ClusterService : private ClusterPlace, public Service {
 public:
  ClusterService() : Service(cluster.url(), {}, "127.0.0.1:0", {}) {}

  double StoreCpuMicros() const override;
};

// Redis writes to disk before it answers.
class DurableService : public RedisService {
 public:
  DurableService() : RedisService(support::Durability::kDiskAlways) {}
};

// The daemon reaches Redis over TCP, in the clear.
class TcpService : public RedisService {
 public:
  TcpService() : RedisService({.listening = support::Listening::kUnixSocketAndTcp}, {}) {}
};

// The same through mutual TLS, whatever version and cipher the two agree on.
struct TlsIdentity {
  support::TestAuthority authority;
  support::TlsFiles own = authority.IssueForLocalhost();
};
// What a program needs to show `files`, as bench_load and the echo server have it.
std::vector<std::string> TlsWords(const support::TestAuthority& authority,
                                  const support::TlsFiles& files);
class TlsService : private TlsIdentity, public RedisService {
 public:
  TlsService();
};

// Redis has a replica, which keeps as little as it does.
class ReplicatedService : public RedisService {
 public:
  ReplicatedService() : ReplicatedService(Variables{}) {}

 protected:
  explicit ReplicatedService(const Variables& daemon);

 private:
  support::RedisServer replica_;
};

// Leases need the replica.
class ConfirmedService : public ReplicatedService {
 public:
  ConfirmedService()
      : ReplicatedService(Variables{{"LOCKKEEPERD_STORE_ASSURANCE", "replicas:1"}}) {}
};

// The daemon keeps an audit trail in a file.
struct AuditPlace {
  support::TemporaryDirectory directory;
  Variables Settings() const { return {{"LOCKKEEPERD_AUDIT_TO", directory.Path("audit.jsonl")}}; }
};
class AuditedService : private AuditPlace, public RedisService {
 public:
  AuditedService() : RedisService({}, Settings()) {}
};

// Spans go to a collector that throws them away.
struct SpanPlace {
  SpanPlace() { collector.KeepNothing(); }
  // `ratio`: of the calls, which have no context.
  Variables Settings(const std::string& ratio) const;

  support::FakeCollector collector;
};
class TracedService : private SpanPlace, public RedisService {
 public:
  TracedService() : RedisService({}, Settings("0.01")) {}
};
class FullyTracedService : private SpanPlace, public RedisService {
 public:
  FullyTracedService() : RedisService({}, Settings("1")) {}
};

// All that an operator may switch on to look at the daemon: traces of 1 %, and an audit trail.
struct ObservedPlace : AuditPlace, SpanPlace {
  Variables Settings() const;
};
class ObservedService : private ObservedPlace, public RedisService {
 public:
  ObservedService() : RedisService({}, ObservedPlace::Settings()) {}
};

// Clients come by mutual TLS.
struct MutualTlsPlace : TlsIdentity {
  support::TlsFiles client = authority.Issue({.common_name = "bench"});
};

// A policy says what they may do, too, and the audit trail tells of it.
struct SecuredPlace : MutualTlsPlace, AuditPlace {
  SecuredPlace();
  Variables Settings() const;
};
class SecuredService : private SecuredPlace, public RedisService {
 public:
  SecuredService();
};

}  // namespace lockkeeper::bench
