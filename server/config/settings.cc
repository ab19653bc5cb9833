// SPDX-License-Identifier: Apache-2.0
#include "config/settings.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/strings/ascii.h"
#include "config/listen_address.h"
#include "config/lock_limits.h"
#include "config/store_assurance.h"
#include "config/traces_endpoint.h"
#include "config/url.h"
#include "core/limits.h"
#include "text/near_miss.h"

namespace lockkeeper::config {
namespace {

namespace limits = core::limits;

constexpr int64_t kMilli = 1;
constexpr int64_t kSecond = 1'000;
constexpr int64_t kMinute = 60 * kSecond;
constexpr int64_t kHour = 60 * kMinute;

constexpr size_t kKeyPrefixBytesMax = 64;
constexpr size_t kHostBytesMax = 255;

text::Problem CheckListen(std::string_view text) {
  const auto address = ParseListenAddress(text);
  if (!address.ok()) return std::string(address.status().message());
  return std::nullopt;
}

text::Problem CheckHttpListen(std::string_view text) {
  if (text.empty()) return std::nullopt;
  const auto address = ParseListenAddress(text);
  if (!address.ok()) return std::string(address.status().message());
  if (address->is_unix()) return "must be host:port or [v6]:port; only gRPC has unix sockets";
  return std::nullopt;
}

text::Problem CheckAssurance(std::string_view text) {
  const auto assurance = ParseStoreAssurance(text);
  if (!assurance.ok()) return std::string(assurance.status().message());
  return std::nullopt;
}

text::Problem CheckPrefixTtls(std::string_view text) {
  const auto ttls = ParsePrefixTtls(text);
  if (!ttls.ok()) return std::string(ttls.status().message());
  return std::nullopt;
}

text::Problem CheckAssumption(std::string_view text) {
  if (text == "no_eviction" || text == "durable" || text == "no_split_brain") return std::nullopt;
  return "must be no_eviction, durable or no_split_brain, is " + text::Quoted(text);
}

// A path needs a slash, so that a slip such as `sylog` does not make a file.
text::Problem CheckAuditTo(std::string_view text) {
  if (text.empty() || text == "stdout" || text == "syslog") return std::nullopt;
  if (text.find('/') != std::string_view::npos) return std::nullopt;
  return "must be stdout, syslog, or the path of a file, with a slash, is " + text::Quoted(text);
}

text::Problem CheckTracesEndpoint(std::string_view text) {
  if (text.empty()) return std::nullopt;
  const auto endpoint = ParseTracesEndpoint(text);
  if (!endpoint.ok()) return std::string(endpoint.status().message());
  return std::nullopt;
}

text::Problem CheckKeyPrefix(std::string_view text) {
  if (text.empty() || text.size() > kKeyPrefixBytesMax) {
    return "must be 1 to " + std::to_string(kKeyPrefixBytesMax) + " bytes, has " +
           std::to_string(text.size());
  }
  if (text.find_first_of("{}") != std::string_view::npos) {
    return "contains '{' or '}', which Redis reads as a hash tag";
  }
  return std::nullopt;
}

text::Problem CheckServerName(std::string_view text) {
  const bool is_host = std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '-' || c == '_' ||
           c == ':';
  });
  if (is_host && text.size() <= kHostBytesMax) return std::nullopt;
  return "must be a host name, or an address without brackets and port, of at most " +
         std::to_string(kHostBytesMax) + " bytes";
}

constexpr Setting kSettings[] = {
    {.key = "server.listen",
     .field = At<&Config::server, &ServerConfig::listen>(),
     .check = CheckListen,
     .flag = "--listen",
     .meaning = "Where gRPC listens: host:port, [v6]:port or unix:/path without TLS, "
                "tls://host:port, or mtls://host:port, where clients need a certificate. Port 0 "
                "lets the system choose."},
    {.key = "server.http_listen",
     .field = At<&Config::server, &ServerConfig::http_listen>(),
     .check = CheckHttpListen,
     .flag = "--http-listen",
     .meaning = "Where HTTP (/healthz, /readyz, /metrics) listens: host:port or [v6]:port "
                "without TLS, or after tls:// or mtls://. Empty: nowhere."},
    {.key = "server.tls_certificate_file",
     .field = At<&Config::server, &ServerConfig::tls_certificate_file>(),
     .flag = "--tls-cert",
     .meaning = "PEM file of the daemon's certificate, with its chain, for listeners with TLS; "
                "read again when it changes. Given together with server.tls_key_file."},
    {.key = "server.tls_key_file",
     .field = At<&Config::server, &ServerConfig::tls_key_file>(),
     .flag = "--tls-key",
     .meaning = "PEM file of the key of that certificate, without a passphrase; read again when "
                "it changes."},
    {.key = "server.tls_client_ca_file",
     .field = At<&Config::server, &ServerConfig::tls_client_ca_file>(),
     .flag = "--tls-client-ca",
     .meaning = "PEM file of the CAs that may sign the certificates of clients, for mtls:// "
                "listeners; read again when it changes."},
    {.key = "server.allow_insecure",
     .field = At<&Config::server, &ServerConfig::allow_insecure>(),
     .flag = "--allow-insecure",
     .meaning = "Listen beyond loopback without TLS. Whoever reaches the network can read what is "
                "said there, and change it."},
    {.key = "server.connections_max",
     .field = At<&Config::server, &ServerConfig::connections_max>(),
     .low = 1,
     .high = core::limits::kConnectionsMax,
     .meaning = "Connections to gRPC at a time, fewer if the process may not open so many files. "
                "Beyond it those that have sent the least are closed."},
    {.key = "server.request_memory_max",
     .field = At<&Config::server, &ServerConfig::request_memory_max>(),
     .low = 64,
     .high = 1'048'576,
     .meaning = "MiB that gRPC may take for the calls of all clients together. Near it gRPC reads "
                "less from clients that send much; at it calls are ended."},
    {.key = "server.max_connection_age",
     .field = At<&Config::server, &ServerConfig::max_connection_age>(),
     .low = kSecond,
     .high = 24 * kHour,
     .zero_too = true,
     .meaning = "Age, give or take a tenth, at which a connection to gRPC gets no new calls, and "
                "its client connects again, perhaps to another daemon; a session is asked to move. "
                "What is under way ends in peace. 0s: never."},
    {.key = "server.reflection",
     .field = At<&Config::server, &ServerConfig::reflection>(),
     .meaning = "Whether clients may ask for the protos by gRPC's reflection, without credentials. "
                "Auto: unless there is a policy."},

    {.key = "store.redis",
     .field = At<&Config::store, &StoreConfig::redis>(),
     .check = CheckStoreUrl,
     .flag = "--redis",
     .meaning = "redis://[user:password@]host:port[/db], rediss://... (the same through TLS), "
                "unix:///path?db=N, redis+sentinel://[user:password@]host:port,.../service[/db], "
                "or redis+cluster://[user:password@]host:port,... (rediss+... through TLS), "
                "percent-encoded. Either this or the embedded store must be chosen."},
    {.key = "store.redis_password_file",
     .field = At<&Config::store, &StoreConfig::redis_password_file>(),
     .environment_alias = "LOCKKEEPERD_REDIS_PASSWORD_FILE",
     .meaning =
         "File that holds the password of store.redis, its last newline left out; read again when "
         "it changes."},
    {.key = "store.redis_tls_ca_file",
     .field = At<&Config::store, &StoreConfig::redis_tls_ca_file>(),
     .meaning = "PEM file of the CAs that may sign the certificate of a rediss:// server; read "
                "again when it changes. Empty: the CAs of the system."},
    {.key = "store.redis_tls_certificate_file",
     .field = At<&Config::store, &StoreConfig::redis_tls_certificate_file>(),
     .meaning = "PEM file of the daemon's own certificate, with its chain, for a rediss:// server "
                "that asks for one; read again when it changes. Given together with "
                "store.redis_tls_key_file."},
    {.key = "store.redis_tls_key_file",
     .field = At<&Config::store, &StoreConfig::redis_tls_key_file>(),
     .meaning = "PEM file of the key of that certificate, without a passphrase; read again when "
                "it changes."},
    {.key = "store.redis_tls_server_name",
     .field = At<&Config::store, &StoreConfig::redis_tls_server_name>(),
     .check = CheckServerName,
     .meaning = "Name or address that the certificate of a rediss:// server must be for. Empty: "
                "the host of the URL."},
    {.key = "store.sentinel_user",
     .field = At<&Config::store, &StoreConfig::sentinel_user>(),
     .meaning = "User at the Sentinels of a redis+sentinel:// store. Empty: their default user."},
    {.key = "store.sentinel_password_file",
     .field = At<&Config::store, &StoreConfig::sentinel_password_file>(),
     .meaning = "File that holds the password of the Sentinels, which is not that of Redis; read "
                "again when it changes. Empty: none."},
    {.key = "store.sentinel_tls_ca_file",
     .field = At<&Config::store, &StoreConfig::sentinel_tls_ca_file>(),
     .meaning = "PEM file of the CAs that may sign the certificates of rediss+sentinel:// "
                "Sentinels; read again when it changes. Empty: those of store.redis_tls_ca_file."},
    {.key = "store.embedded",
     .field = At<&Config::store, &StoreConfig::embedded>(),
     .flag = "--embedded",
     .meaning =
         "Run a private redis-server in the data directory. Only this daemon knows its locks."},
    {.key = "store.data_dir",
     .field = At<&Config::store, &StoreConfig::data_dir>(),
     .flag = "--data-dir",
     .meaning = "Where the embedded store keeps its data. Empty: /var/lib/lockkeeper as root, else "
                "$XDG_STATE_HOME/lockkeeper or ~/.local/state/lockkeeper."},
    {.key = "store.embedded_program",
     .field = At<&Config::store, &StoreConfig::embedded_program>(),
     .meaning =
         "Program of the embedded store. Empty: redis-server, else valkey-server, from PATH."},
    {.key = "store.key_prefix",
     .field = At<&Config::store, &StoreConfig::key_prefix>(),
     .check = CheckKeyPrefix,
     .meaning = "Beginning of every key in Redis, 1 to 64 bytes without braces."},
    {.key = "store.connections",
     .field = At<&Config::store, &StoreConfig::connections>(),
     .low = 1,
     .high = 64,
     .meaning = "Connections of this daemon to Redis."},
    {.key = "store.connect_timeout",
     .field = At<&Config::store, &StoreConfig::connect_timeout>(),
     .low = 10 * kMilli,
     .high = kMinute,
     .meaning = "Time to connect to Redis and shake hands."},
    {.key = "store.request_timeout",
     .field = At<&Config::store, &StoreConfig::request_timeout>(),
     .low = 10 * kMilli,
     .high = kMinute,
     .meaning = "Longest wait for a reply of Redis; a shorter deadline of the request wins."},
    {.key = "store.assurance",
     .field = At<&Config::store, &StoreConfig::assurance>(),
     .check = CheckAssurance,
     .meaning = "What must have confirmed a lease before a client has it: primary (Redis' reply), "
                "replicas:N (N replicas besides, 1 to 16) or fsynced (its disk). While less "
                "confirms, nothing new is granted."},
    {.key = "store.first_use",
     .field = At<&Config::store, &StoreConfig::first_use>(),
     .meaning = "What to do with an empty store that no living daemon knows: grant (it is a new "
                "one) or quarantine (it may have lost everything: wait for the longest lease)."},
    {.key = "store.first_use_wait",
     .field = At<&Config::store, &StoreConfig::first_use_wait>(),
     .low = 0,
     .high = kMinute,
     .meaning =
         "Time that other daemons have to show that they know a store that this one finds "
         "empty. Not waited for if Redis is up for longer and no other daemon is connected."},
    {.key = "store.quarantine",
     .field = At<&Config::store, &StoreConfig::quarantine>(),
     .meaning =
         "After a loss grant nothing new until all leases that may have been forgotten are "
         "over. until_restored: the same, but a failover of Sentinels costs less, if all daemons "
         "have this setting: until they have restored what they told their clients. Off: a lock "
         "may then have two holders; only fencing tokens tell them apart."},
    {.key = "store.assume",
     .field = At<&Config::store, &StoreConfig::assume>(),
     .check = CheckAssumption,
     .may_be_empty = true,
     .meaning =
         "What you answer for although Redis does not show it: no_eviction (no key is ever "
         "evicted), durable (restarts and failovers lose nothing), no_split_brain (a primary "
         "that Sentinels have replaced takes no more writes)."},
    {.key = "store.record_retention",
     .field = At<&Config::store, &StoreConfig::record_retention>(),
     .low = kSecond,
     .high = 24 * kHour,
     .meaning = "How long the record of an ended lock is kept. As long as it is there, repeats are "
                "recognised and tokens compared. Below 1m repeats may be granted anew."},

    {.key = "lease.default_ttl",
     .field = At<&Config::lease, &LeaseConfig::default_ttl>(),
     .low = limits::kTtlMin.count(),
     .high = limits::kTtlCeiling.count(),
     .reloadable = true,
     .meaning = "Ttl of a lease that asks for none; lease.max_ttl if that is shorter."},
    {.key = "lease.max_ttl",
     .field = At<&Config::lease, &LeaseConfig::max_ttl>(),
     .low = limits::kMaxTtlMin.count(),
     .high = limits::kTtlCeiling.count(),
     .reloadable = true,
     .meaning = "Longest ttl of a lease. An outage after a loss of the store lasts this long."},
    {.key = "lease.by_prefix",
     .field = At<&Config::lease, &LeaseConfig::by_prefix>(),
     .check = CheckPrefixTtls,
     .may_be_empty = true,
     .reloadable = true,
     .meaning = "Other ttls for the locks whose names begin with a prefix, such as batch/ "
                "default_ttl=5m max_ttl=1h; either ttl may be left out. The longest prefix wins. "
                "At most 256 entries."},

    {.key = "waiters.max_wait",
     .field = At<&Config::waiters, &WaitersConfig::max_wait>(),
     .low = 0,
     .high = limits::kWaitTimeoutMax.count(),
     .reloadable = true,
     .meaning = "Longest wait_timeout of an acquire. 0s: nobody may wait."},
    {.key = "waiters.per_lock_max",
     .field = At<&Config::waiters, &WaitersConfig::per_lock_max>(),
     .low = 1,
     .high = limits::kWaitersPerLockMax,
     .reloadable = true,
     .meaning = "Acquires that may stand in the line of one lock, over all daemons. Beyond it "
                "WAITER_LIMIT."},
    {.key = "waiters.per_principal_max",
     .field = At<&Config::waiters, &WaitersConfig::per_principal_max>(),
     .low = 1,
     .high = limits::kWaitersPerPrincipalMax,
     .reloadable = true,
     .meaning =
         "Acquires of one principal that may wait in this daemon; without authentication all "
         "callers are one principal. Beyond it WAITER_LIMIT."},
    {.key = "waiters.slow_wait",
     .field = At<&Config::waiters, &WaitersConfig::slow_wait>(),
     .low = 1,
     .high = 24 * kHour,
     .reloadable = true,
     .meaning = "A longer wait is logged (lock.slow_wait), and counted if it ends with a grant "
                "(lockkeeper_slow_wait_total)."},

    {.key = "access.policy_file",
     .field = At<&Config::access, &AccessConfig::policy_file>(),
     .flag = "--policy",
     .meaning =
         "YAML file of the policy: who may do what, and how much. Read again when it changes. "
         "Empty: everybody may do everything."},
    {.key = "access.tokens_file",
     .field = At<&Config::access, &AccessConfig::tokens_file>(),
     .flag = "--tokens",
     .meaning =
         "YAML file of the bearer tokens, by their hashes. Read again when it changes. Empty: "
         "no token counts."},

    {.key = "audit.to",
     .field = At<&Config::audit, &AuditConfig::to>(),
     .check = CheckAuditTo,
     .flag = "--audit-to",
     .meaning =
         "Where audit records go: stdout, syslog, or the path of a file, with a slash, which is "
         "opened again on SIGHUP. Empty: nowhere."},
    {.key = "audit.required",
     .field = At<&Config::audit, &AuditConfig::required>(),
     .meaning = "Answer acquires AUDIT_UNAVAILABLE while audit records cannot be written, instead "
                "of granting locks without a record."},
    {.key = "audit.queue_max",
     .field = At<&Config::audit, &AuditConfig::queue_max>(),
     .low = 100,
     .high = limits::kAuditQueueMax,
     .meaning =
         "Audit records that may wait to be written. Beyond it records are dropped, or, with "
         "audit.required, acquires refused."},

    {.key = "traces.endpoint",
     .field = At<&Config::traces, &TracesConfig::endpoint>(),
     .check = CheckTracesEndpoint,
     .flag = "--traces-endpoint",
     .meaning = "Where spans go by OTLP over gRPC: http://host[:port], or https://host[:port] with "
                "TLS; the port is 4317 unless given. Empty: no traces."},
    {.key = "traces.sample_ratio",
     .field = At<&Config::traces, &TracesConfig::sample_ratio>(),
     .low = 0,
     .high = 1,
     .flag = "--traces-sample-ratio",
     .meaning = "Share of the calls without a trace context that are traced: 0.01 is 1 %. A caller "
                "that gives a context decides for its own calls."},
    {.key = "traces.ca_file",
     .field = At<&Config::traces, &TracesConfig::ca_file>(),
     .flag = "--traces-ca",
     .meaning = "PEM file of the CAs that may sign the certificate of an https:// endpoint; read "
                "at start, and again when spans could not be sent. Empty: the CAs of the system."},

    {.key = "drain.timeout",
     .field = At<&Config::drain, &DrainConfig::timeout>(),
     .low = 0,
     .high = 10 * kMinute,
     .meaning = "How long a daemon that stops waits for work in flight."},

    {.key = "log.format",
     .field = At<&Config::log, &LogConfig::format>(),
     .meaning = "Form of the records on standard error: key=value or one JSON object per line."},
    {.key = "log.level",
     .field = At<&Config::log, &LogConfig::level>(),
     .reloadable = true,
     .meaning = "Records below it are left out."},
};

std::string Suggestion(std::string_view unknown, const std::vector<std::string>& known) {
  const std::optional<std::string> nearest = text::NearMiss(unknown, known);
  return nearest ? "; did you mean " + *nearest + "?" : "";
}

}  // namespace

absl::Span<const Setting> Settings() { return kSettings; }

const Setting* FindByKey(std::string_view key) {
  for (const Setting& setting : kSettings) {
    if (setting.key == key) return &setting;
  }
  return nullptr;
}

const Setting* FindByFlag(std::string_view flag) {
  for (const Setting& setting : kSettings) {
    if (!flag.empty() && setting.flag == flag) return &setting;
  }
  return nullptr;
}

const Setting* FindByEnvironment(std::string_view variable) {
  for (const Setting& setting : kSettings) {
    if (EnvironmentName(setting) == variable) return &setting;
    if (!variable.empty() && setting.environment_alias == variable) return &setting;
  }
  return nullptr;
}

bool IsSection(std::string_view name) {
  return std::any_of(std::begin(kSettings), std::end(kSettings),
                     [name](const Setting& setting) { return setting.section() == name; });
}

std::string SuggestKey(std::string_view unknown) {
  std::vector<std::string> known;
  for (const Setting& setting : kSettings) {
    // The right name in the wrong section is nearer than any slip of the fingers.
    if (setting.name() == unknown.substr(unknown.find('.') + 1)) {
      return "; did you mean " + std::string(setting.key) + "?";
    }
    known.emplace_back(setting.key);
  }
  return Suggestion(unknown, known);
}

std::string SuggestSection(std::string_view unknown) {
  std::vector<std::string> known;
  for (const Setting& setting : kSettings) {
    if (setting.name() == unknown) return "; did you mean " + std::string(setting.key) + "?";
    known.emplace_back(setting.section());
  }
  return Suggestion(unknown, known);
}

std::string SuggestVariable(std::string_view unknown) {
  std::vector<std::string> known;
  for (const Setting& setting : kSettings) known.push_back(EnvironmentName(setting));
  return Suggestion(unknown, known);
}

}  // namespace lockkeeper::config
