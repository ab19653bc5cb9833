// SPDX-License-Identifier: Apache-2.0
#include "bench/service.h"

#include <filesystem>

#include "bench/load/process_stat.h"

namespace lockkeeper::bench {

std::string ProgramPath(const std::string& name) {
  return std::filesystem::read_symlink("/proc/self/exe").replace_filename(name);
}

support::DaemonProcessOptions DaemonOn(const std::string& url, const Variables& more) {
  support::DaemonProcessOptions options{
      .program = ProgramPath("lockkeeperd"),
      .arguments = {"--listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0", "--redis", url},
      // On a busy machine thousands of waiters take their time; that is no outage, and nobody
      // extends the leases that they wait for.
      .environment = {{"LOCKKEEPERD_STORE_REQUEST_TIMEOUT", "30s"},
                      {"LOCKKEEPERD_LEASE_MAX_TTL", "10m"}}};
  options.environment.insert(options.environment.end(), more.begin(), more.end());
  return options;
}

Service::Service(const support::RedisServerOptions& redis, const Variables& daemon)
    : redis_(redis), daemon_(DaemonOn(redis_.url(), daemon)) {
  daemon_.WaitUntilReady();
}

TlsService::TlsService()
    : Service({.listening = support::Listening::kUnixSocketAndTls,
               .settings = {"tls-cert-file " + own.certificate, "tls-key-file " + own.key,
                            "tls-ca-cert-file " + authority.ca_file()}},
              {{"LOCKKEEPERD_STORE_REDIS_TLS_CA_FILE", authority.ca_file()},
               {"LOCKKEEPERD_STORE_REDIS_TLS_CERTIFICATE_FILE", own.certificate},
               {"LOCKKEEPERD_STORE_REDIS_TLS_KEY_FILE", own.key}}) {}

double Service::CpuSeconds() const {
  return (CpuMicros(redis_.pid()) + CpuMicros(daemon_.pid())) / 1e6;
}

}  // namespace lockkeeper::bench
