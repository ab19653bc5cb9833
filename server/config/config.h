// SPDX-License-Identifier: Apache-2.0
//
// Every setting of the daemon, with its default. config_loader fills it from file, environment and
// flags. config/lockkeeper.yaml has the same keys and defaults; a test compares them. Read at
// the start; server/daemon/live_settings.h says what may change afterwards.
#pragma once

#include <string>
#include <vector>

#include "core/limits.h"
#include "core/types.h"
#include "text/secret.h"

namespace lockkeeper::config {

using core::Millis;

enum class Reflection { kAuto, kOn, kOff };

struct ServerConfig {
  // Where gRPC listens: host:port, [v6]:port or unix:/path, without TLS; tls://host:port;
  // mtls://host:port, where clients need a certificate. Port 0 lets the system choose.
  std::vector<std::string> listen = {"127.0.0.1:7600"};
  // Where HTTP (health, metrics) listens: host:port or [v6]:port without TLS, or after
  // tls:// or mtls://. Empty: nowhere.
  std::string http_listen = "127.0.0.1:7601";
  // PEM files of our certificate (with its chain) and of its key, without a passphrase, for
  // listeners with TLS. Both or neither.
  std::string tls_certificate_file;
  std::string tls_key_file;
  // PEM file of the CAs that may sign the certificates of clients, for mtls:// listeners.
  std::string tls_client_ca_file;
  // Listen beyond loopback without TLS. Everybody who reaches the port can lock.
  bool allow_insecure = false;
  // Connections to gRPC at a time, 1 to 1,000,000.
  int connections_max = core::limits::kConnectionsDefault;
  // MiB that gRPC may take for the calls of all clients together, 64 to 1,048,576.
  int request_memory_max = 1'024;
  // Age from which a connection to gRPC gets no new calls, so that its client connects again: 1 s
  // to 24 h. 0: never.
  Millis max_connection_age{0};
  // Whether clients may ask for the protos by reflection. Auto: unless there is a policy.
  Reflection reflection = Reflection::kAuto;
};

// What to do with a store that has no marker and no locks.
enum class FirstUse { kGrant, kQuarantine };
enum class Quarantine { kOn, kUntilRestored, kOff };

struct StoreConfig {
  // redis://[user:password@]host:port[/db], rediss://... (the same through TLS),
  // unix:///path?db=N, redis+sentinel://[user:password@]host:port,.../service[/db] or
  // redis+cluster://[user:password@]host:port,... Exclusive with `embedded`.
  text::Secret redis;
  // File that holds the password of the store, its last newline left out. Empty: none.
  std::string redis_password_file;
  // PEM file of the CAs that may sign the certificate of a rediss:// server. Empty: the system's.
  std::string redis_tls_ca_file;
  // PEM files of our own certificate (with its chain) and of its key, without a passphrase, for a
  // rediss:// server that asks for one. Both or neither.
  std::string redis_tls_certificate_file;
  std::string redis_tls_key_file;
  // Name or address that the certificate of a rediss:// server must be for. Empty: the host of
  // the URL.
  std::string redis_tls_server_name;
  // User and password of the Sentinels of a redis+sentinel:// store, which are not those of Redis.
  // Empty: none.
  std::string sentinel_user;
  std::string sentinel_password_file;
  // PEM file of the CAs that may sign the certificates of rediss+sentinel:// Sentinels. Empty:
  // redis_tls_ca_file.
  std::string sentinel_tls_ca_file;
  // Run a private redis-server in data_dir.
  bool embedded = false;
  // Where the embedded store keeps its data. Empty: /var/lib/lockkeeper as root, else
  // $XDG_STATE_HOME/lockkeeper (~/.local/state/lockkeeper).
  std::string data_dir;
  // Program of the embedded store. Empty: redis-server, else valkey-server, from PATH.
  std::string embedded_program;
  // Beginning of every key in Redis, 1 to 64 bytes without braces.
  std::string key_prefix = "lk:";
  // Connections to Redis, 1 to 64.
  int connections = 2;
  // Time to connect and shake hands, 10 ms to 1 min.
  Millis connect_timeout{2'000};
  // Longest wait for a reply, 10 ms to 1 min; a shorter rpc deadline wins.
  Millis request_timeout{1'000};
  // What must have confirmed a lease before a client has it: primary, replicas:N (1 to 16) or
  // fsynced. See store_assurance.h.
  std::string assurance = "primary";
  // Whether an empty store that no living daemon knows counts as new, or as one that has lost
  // everything.
  FirstUse first_use = FirstUse::kGrant;
  // How long to wait for other daemons to show that they know an empty store, 0 to 1 min.
  Millis first_use_wait{3'000};
  // Grant nothing new after a loss until all leases that may have been forgotten are over; or,
  // after a failover, until all daemons have restored what they had told their clients.
  Quarantine quarantine = Quarantine::kOn;
  // What the operator guarantees although Redis does not show it: no_eviction, durable,
  // no_split_brain.
  std::vector<std::string> assume;
  // How long the record of an ended lock is kept, 1 s to 24 h. Repeats are recognised, and tokens
  // compared, as long as the record is there.
  Millis record_retention{60'000};
};

struct LeaseConfig {
  // Ttl of a lease that asks for none, 100 ms to 24 h; max_ttl if that is shorter.
  Millis default_ttl = core::limits::kTtlDefault;
  // Longest ttl of a lease, 1 s to 24 h. An outage after a loss of the store lasts this long.
  Millis max_ttl{60'000};
  // Other ttls for the locks whose names begin with a prefix, at most 256: see lock_limits.h.
  std::vector<std::string> by_prefix;
};

struct WaitersConfig {
  // Longest wait_timeout of an acquire, 0 to 24 h.
  Millis max_wait = core::limits::kWaitTimeoutMax;
  // Acquires that may stand in the line of one lock, over all daemons, 1 to 999,999.
  int per_lock_max = core::limits::kWaitersPerLockDefault;
  // Acquires of one principal that may wait in this daemon, 1 to 999,999.
  int per_principal_max = core::limits::kWaitersPerPrincipalDefault;
  // A longer wait is logged, and counted if it ends with a grant. 1 ms to 24 h.
  core::Millis slow_wait = std::chrono::seconds(10);
};

struct AccessConfig {
  // YAML file of the policy: who may do what. Empty: everybody may do everything.
  std::string policy_file;
  // YAML file of the bearer tokens, by their hashes. Empty: none.
  std::string tokens_file;
};

struct AuditConfig {
  // Where audit records go: stdout, syslog, or the path of a file, with a slash. Empty: nowhere.
  std::string to;
  // Refuse grants while their records cannot be written.
  bool required = false;
  // Records that may wait to be written, 100 to 1,000,000.
  int queue_max = core::limits::kAuditQueueDefault;
};

struct TracesConfig {
  // Where OTLP over gRPC listens: http://host[:port], or https://... with TLS. Empty: no traces.
  std::string endpoint;
  // Share of the calls without a trace context of their callers that are traced, 0 to 1.
  double sample_ratio = 0.01;
  // PEM file of the CAs that may sign the certificate of an https:// endpoint. Empty: the system's.
  std::string ca_file;
};

struct DrainConfig {
  // How long a stopping daemon waits for work in flight, 0 to 10 min.
  Millis timeout{20'000};
};

enum class LogFormat { kText, kJson };
enum class LogLevel { kDebug, kInfo, kWarn, kError };

struct LogConfig {
  LogFormat format = LogFormat::kText;
  LogLevel level = LogLevel::kInfo;
};

struct Config {
  ServerConfig server;
  StoreConfig store;
  LeaseConfig lease;
  WaitersConfig waiters;
  AccessConfig access;
  AuditConfig audit;
  TracesConfig traces;
  DrainConfig drain;
  LogConfig log;
};

}  // namespace lockkeeper::config
