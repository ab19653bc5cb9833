// SPDX-License-Identifier: Apache-2.0
//
// lockkeeper as the rows measure it: a daemon, and a Redis of its own.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "support/otlp/fake_collector.h"
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
  // Starts both and waits until they are ready. Redis listens on a unix socket.
  explicit Service(support::Durability durability = support::Durability::kNone)
      : Service({.durability = durability}, {}) {}

  const support::RedisServer& redis() const { return redis_; }
  const support::DaemonProcess& daemon() const { return daemon_; }

  // Processor time that both have used so far.
  double CpuSeconds() const;

  // What bench_load needs to be let in, besides the address.
  const std::vector<std::string>& client_words() const { return client_words_; }

 protected:
  // The daemon reaches Redis by what it listens on besides the unix socket.
  Service(const support::RedisServerOptions& redis, const Variables& daemon,
          const std::string& listen = "127.0.0.1:0", std::vector<std::string> client_words = {});

 private:
  support::RedisServer redis_;
  support::DaemonProcess daemon_;
  const std::vector<std::string> client_words_;
};

// Redis writes to disk before it answers.
class DurableService : public Service {
 public:
  DurableService() : Service(support::Durability::kDiskAlways) {}
};

// The daemon reaches Redis over TCP, in the clear.
class TcpService : public Service {
 public:
  TcpService() : Service({.listening = support::Listening::kUnixSocketAndTcp}, {}) {}
};

// The same through mutual TLS, whatever version and cipher the two agree on.
struct TlsIdentity {
  support::TestAuthority authority;
  support::TlsFiles own = authority.IssueForLocalhost();
};
class TlsService : private TlsIdentity, public Service {
 public:
  TlsService();
};

// Redis has a replica, which keeps as little as it does.
class ReplicatedService : public Service {
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
class AuditedService : private AuditPlace, public Service {
 public:
  AuditedService() : Service({}, Settings()) {}
};

// Spans go to a collector that throws them away.
struct SpanPlace {
  SpanPlace() { collector.KeepNothing(); }
  // `ratio`: of the calls, which have no context.
  Variables Settings(const std::string& ratio) const;

  support::FakeCollector collector;
};
class TracedService : private SpanPlace, public Service {
 public:
  TracedService() : Service({}, Settings("0.01")) {}
};
class FullyTracedService : private SpanPlace, public Service {
 public:
  FullyTracedService() : Service({}, Settings("1")) {}
};

// All that an operator may switch on to look at the daemon: traces of 1 %, and an audit trail.
struct ObservedPlace : AuditPlace, SpanPlace {
  Variables Settings() const;
};
class ObservedService : private ObservedPlace, public Service {
 public:
  ObservedService() : Service({}, ObservedPlace::Settings()) {}
};

// Clients come by mutual TLS, a policy says what they may do, and the audit trail tells of it.
struct SecuredPlace : TlsIdentity, AuditPlace {
  SecuredPlace();
  Variables Settings() const;

  support::TlsFiles client = authority.Issue({.common_name = "bench"});
};
class SecuredService : private SecuredPlace, public Service {
 public:
  SecuredService();
};

}  // namespace lockkeeper::bench
