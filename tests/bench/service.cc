// SPDX-License-Identifier: Apache-2.0
#include "bench/service.h"

#include <filesystem>
#include <fstream>

#include "bench/load/process_stat.h"

namespace lockkeeper::bench {

std::string ProgramPath(const std::string& name) {
  return std::filesystem::read_symlink("/proc/self/exe").replace_filename(name);
}

std::vector<std::string> WatchedLoad(const std::string& kind, const support::DaemonProcess& daemon,
                                     const support::RedisServer& redis) {
  return {ProgramPath("bench_load"),
          kind,
          "--address",
          daemon.GrpcAddress(),
          "--http",
          daemon.HttpAddress(),
          "--socket",
          redis.socket_path(),
          "--daemon",
          std::to_string(daemon.pid())};
}

support::DaemonProcessOptions DaemonOn(const std::string& url, const Variables& more,
                                       const std::string& listen) {
  support::DaemonProcessOptions options{
      .program = ProgramPath("lockkeeperd"),
      .arguments = {"--listen", listen, "--http-listen", "127.0.0.1:0", "--redis", url},
      // On a busy machine thousands of waiters take their time; that is no outage, and nobody
      // extends the leases that they wait for.
      .environment = {{"LOCKKEEPERD_STORE_REQUEST_TIMEOUT", "30s"},
                      {"LOCKKEEPERD_LEASE_MAX_TTL", "10m"}}};
  options.environment.insert(options.environment.end(), more.begin(), more.end());
  return options;
}

Service::Service(const std::string& url, const Variables& daemon, const std::string& listen,
                 std::vector<std::string> client_words)
    : daemon_(DaemonOn(url, daemon, listen)), client_words_(std::move(client_words)) {
  daemon_.WaitUntilReady();
}

double Service::CpuSeconds() const { return (StoreCpuMicros() + CpuMicros(daemon_.pid())) / 1e6; }

RedisService::RedisService(const support::RedisServerOptions& redis, const Variables& daemon,
                           const std::string& listen, std::vector<std::string> client_words)
    : RedisPlace{support::RedisServer(redis)},
      Service(RedisPlace::redis.url(), daemon, listen, std::move(client_words)) {}

double RedisService::StoreCpuMicros() const { return CpuMicros(redis().pid()); }

double ClusterService::StoreCpuMicros() const {
  double micros = 0;
  for (size_t i = 0; i < cluster.servers(); ++i) micros += CpuMicros(cluster.server(i).pid());
  return micros;
}

std::vector<std::string> TlsWords(const support::TestAuthority& authority,
                                  const support::TlsFiles& files) {
  return {"--tls-ca", authority.ca_file(), "--tls-cert", files.certificate, "--tls-key", files.key};
}

TlsService::TlsService()
    : RedisService({.listening = support::Listening::kUnixSocketAndTls,
                    .settings = {"tls-cert-file " + own.certificate, "tls-key-file " + own.key,
                                 "tls-ca-cert-file " + authority.ca_file()}},
                   {{"LOCKKEEPERD_STORE_REDIS_TLS_CA_FILE", authority.ca_file()},
                    {"LOCKKEEPERD_STORE_REDIS_TLS_CERTIFICATE_FILE", own.certificate},
                    {"LOCKKEEPERD_STORE_REDIS_TLS_KEY_FILE", own.key}}) {}

ReplicatedService::ReplicatedService(const Variables& daemon)
    : RedisService({.listening = support::Listening::kUnixSocketAndTcp,
                    .settings = {"repl-diskless-sync-delay 0"}},
                   daemon),
      replica_({.settings = {"replicaof 127.0.0.1 " + std::to_string(redis().port())}}) {
  replica_.AwaitInfo("replication", "master_link_status", "up");
}

Variables SpanPlace::Settings(const std::string& ratio) const {
  return {{"LOCKKEEPERD_TRACES_ENDPOINT", collector.endpoint()},
          {"LOCKKEEPERD_TRACES_SAMPLE_RATIO", ratio}};
}

Variables ObservedPlace::Settings() const {
  Variables settings = AuditPlace::Settings();
  const Variables traces = SpanPlace::Settings("0.01");
  settings.insert(settings.end(), traces.begin(), traces.end());
  return settings;
}

SecuredPlace::SecuredPlace() {
  std::ofstream(directory.Path("policy.yaml"))
      << "certificates: [{from: cn, match: bench, principal: bench}]\n"
         "roles: {worker: {rules: [{verbs: [acquire, extend, release, fence], prefixes: ['']}]}}\n"
         "bindings: [{roles: worker, principals: bench}]\n";
}

Variables SecuredPlace::Settings() const {
  Variables settings = AuditPlace::Settings();
  settings.insert(settings.end(),
                  {{"LOCKKEEPERD_SERVER_TLS_CERTIFICATE_FILE", own.certificate},
                   {"LOCKKEEPERD_SERVER_TLS_KEY_FILE", own.key},
                   {"LOCKKEEPERD_SERVER_TLS_CLIENT_CA_FILE", authority.ca_file()},
                   {"LOCKKEEPERD_ACCESS_POLICY_FILE", directory.Path("policy.yaml")}});
  return settings;
}

SecuredService::SecuredService()
    : RedisService({}, SecuredPlace::Settings(), "mtls://127.0.0.1:0",
                   TlsWords(authority, client)) {}

}  // namespace lockkeeper::bench
