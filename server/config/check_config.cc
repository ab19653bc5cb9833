// SPDX-License-Identifier: Apache-2.0
#include <set>
#include <span>
#include <utility>

#include "absl/strings/str_join.h"
#include "config/config_loader.h"
#include "config/listen_address.h"
#include "config/lock_limits.h"
#include "config/store_assurance.h"
#include "config/traces_endpoint.h"
#include "config/url.h"
#include "core/errors.h"
#include "core/limits.h"
#include "text/duration.h"

namespace lockkeeper::config {
namespace {

class Checker {
 public:
  explicit Checker(const LoadedConfig& loaded) : loaded_(loaded), config_(loaded.config) {}

  absl::Status Check() {
    CheckStore();
    CheckPassword();
    CheckTls();
    CheckSentinels();
    CheckQuarantine();
    CheckListeners();
    CheckServerTls();
    CheckAudit();
    CheckTraces();
    CheckTtls();
    if (problems_.empty()) return absl::OkStatus();
    return core::Error(core::ErrorReason::kInvalidField, absl::StrJoin(problems_, "\n"));
  }

 private:
  // "store.redis (lockkeeper.yaml:3)"
  std::string Named(std::string_view key) const {
    return std::string(key) + " (" + loaded_.origins.find(key)->second + ")";
  }

  void CheckStore() {
    const StoreConfig& store = config_.store;
    if (store.redis.empty() && !store.embedded) {
      problems_.emplace_back(
          "no store is given: use --redis URL (store.redis) for a Redis that all daemons share, or "
          "--embedded (store.embedded) for a private one that only this daemon uses");
    }
    if (!store.redis.empty() && store.embedded) {
      problems_.push_back("two stores are given: " + Named("store.redis") + " and " +
                          Named("store.embedded") + "; remove one of them");
    }
    const auto assurance = ParseStoreAssurance(store.assurance);
    if (store.embedded && assurance.ok() && assurance->least == core::Assurance::kReplicas) {
      problems_.push_back(Named("store.assurance") +
                          ": the embedded store has no replicas; it confirms what is on its disk");
    }
    if (store.embedded && store.data_dir.empty()) {
      problems_.emplace_back(
          "store.data_dir: must be given, since neither XDG_STATE_HOME nor HOME is set");
    }
  }

  void CheckPassword() {
    for (const auto& [key, problem] : loaded_.password_problems) {
      problems_.push_back(Named(key) + ": " + problem);
    }
    const StoreConfig& store = config_.store;
    if (store.redis_password_file.empty()) return;
    const std::string named = Named("store.redis_password_file");
    if (store.redis.empty()) {
      problems_.push_back(named + ": is for store.redis, which is not given");
    } else if (HasPassword(store.redis)) {
      problems_.push_back("two passwords are given: " + named + " and the one in " +
                          Named("store.redis") + "; remove one of them");
    }
  }

  // A setting by its key, and its value.
  using KeyAndValue = std::pair<std::string_view, const std::string&>;

  // Those that are given are for another kind of store.
  void RejectGiven(std::span<const KeyAndValue> settings, const std::string& scheme) {
    for (const auto& [key, value] : settings) {
      if (value.empty()) continue;
      problems_.push_back(Named(key) + ": is for a store.redis that begins with " + scheme);
    }
  }

  void CheckTls() {
    const StoreConfig& store = config_.store;
    const KeyAndValue settings[] = {
        {"store.redis_tls_ca_file", store.redis_tls_ca_file},
        {"store.redis_tls_certificate_file", store.redis_tls_certificate_file},
        {"store.redis_tls_key_file", store.redis_tls_key_file},
        {"store.redis_tls_server_name", store.redis_tls_server_name}};
    if (!AsksForTls(store.redis)) RejectGiven(settings, "rediss:// (TLS)");
    if (store.redis_tls_certificate_file.empty() != store.redis_tls_key_file.empty()) {
      const auto& [given, missing] = store.redis_tls_key_file.empty()
                                         ? std::pair(settings[1].first, settings[2].first)
                                         : std::pair(settings[2].first, settings[1].first);
      problems_.push_back(Named(given) + ": needs " + std::string(missing) + " too");
    }
  }

  void CheckSentinels() {
    const StoreConfig& store = config_.store;
    const KeyAndValue settings[] = {{"store.sentinel_user", store.sentinel_user},
                                    {"store.sentinel_password_file", store.sentinel_password_file},
                                    {"store.sentinel_tls_ca_file", store.sentinel_tls_ca_file}};
    if (!NamesSentinels(store.redis)) RejectGiven(settings, "redis+sentinel://");
    if (!store.sentinel_user.empty() && store.sentinel_password_file.empty()) {
      problems_.push_back(Named("store.sentinel_user") +
                          ": needs store.sentinel_password_file too");
    }
    if (!store.sentinel_tls_ca_file.empty() && !AsksForTls(store.redis)) {
      problems_.push_back(Named("store.sentinel_tls_ca_file") +
                          ": is for a store.redis that begins with rediss+sentinel:// (TLS)");
    }
  }

  void CheckListeners() {
    std::set<std::string> seen;
    for (const std::string& text : config_.server.listen) {
      CheckListener("server.listen", text, seen);
    }
    if (!config_.server.http_listen.empty()) {
      CheckListener("server.http_listen", config_.server.http_listen, seen);
    }
  }

  void CheckListener(std::string_view key, const std::string& text, std::set<std::string>& seen) {
    const auto address = ParseListenAddress(text);
    if (!address.ok()) return;  // Refused when it was read.
    const bool any_port = !address->is_unix() && address->port == 0;
    if (!any_port && !seen.insert(address->Place()).second) {
      problems_.push_back(Named(key) + ": " + address->Place() + " is given twice");
    }
    const bool secured = address->security != Security::kNone;
    if (secured) secured_.emplace_back(Named(key) + ": " + text, address->security);
    if (!address->IsLocal() && !secured && !config_.server.allow_insecure) {
      problems_.push_back(
          Named(key) + ": " + text + " can be reached from other machines; listen on tls://" +
          text + " or mtls://" + text +
          ", on 127.0.0.1, [::1], localhost or unix:/path, or say --allow-insecure "
          "(server.allow_insecure: true, LOCKKEEPERD_SERVER_ALLOW_INSECURE=true) if the network "
          "keeps everybody else out");
    }
  }

  // After CheckListeners, which finds those with TLS.
  void CheckServerTls() {
    const ServerConfig& server = config_.server;
    const bool has_certificate = !server.tls_certificate_file.empty();
    const bool has_key = !server.tls_key_file.empty();
    const bool has_ca = !server.tls_client_ca_file.empty();
    bool any_mutual = false;
    for (const auto& [named, security] : secured_) {
      const bool mutual = security == Security::kMutualTls;
      any_mutual = any_mutual || mutual;
      if (!has_certificate && !has_key) {
        problems_.push_back(named +
                            " needs a certificate: give --tls-cert (server.tls_certificate_file) "
                            "and --tls-key (server.tls_key_file)");
      }
      if (mutual && !has_ca) {
        problems_.push_back(named +
                            " needs the CAs of its clients: give --tls-client-ca "
                            "(server.tls_client_ca_file)");
      }
    }
    if (has_certificate != has_key) {
      problems_.push_back(has_certificate
                              ? Named("server.tls_certificate_file") +
                                    ": needs --tls-key "
                                    "(server.tls_key_file) too"
                              : Named("server.tls_key_file") +
                                    ": needs --tls-cert (server.tls_certificate_file) too");
    }
    if (has_certificate && secured_.empty()) {
      problems_.push_back(Named("server.tls_certificate_file") +
                          ": no listener uses it; begin an address of server.listen or "
                          "server.http_listen with tls:// or mtls://");
    }
    // Else somebody who wants mutual TLS would not get it.
    if (has_ca && !any_mutual) {
      problems_.push_back(Named("server.tls_client_ca_file") +
                          ": no listener asks for client certificates; begin an address of "
                          "server.listen or server.http_listen with mtls://");
    }
  }

  // Else somebody who relies on the records would not get them.
  void CheckAudit() {
    if (config_.audit.required && config_.audit.to.empty()) {
      problems_.push_back(Named("audit.required") +
                          ": needs --audit-to (audit.to), the place where audit records go");
    }
  }

  // Else somebody would count on short outages and not get them.
  void CheckQuarantine() {
    const StoreConfig& store = config_.store;
    if (store.quarantine != Quarantine::kUntilRestored) return;
    if (store.redis.reveal().find("+sentinel://") != std::string::npos) return;
    problems_.push_back(Named("store.quarantine") +
                        ": until_restored is for a Redis behind Sentinels, a store.redis that "
                        "begins with redis+sentinel:// or rediss+sentinel://");
  }

  void CheckTraces() {
    const TracesConfig& traces = config_.traces;
    if (traces.ca_file.empty()) return;
    const auto endpoint = ParseTracesEndpoint(traces.endpoint);
    if (endpoint.ok() && endpoint->tls) return;
    problems_.push_back(Named("traces.ca_file") +
                        ": is for a traces.endpoint that begins with https:// (TLS)");
  }

  bool IsGiven(std::string_view key) const {
    return loaded_.origins.find(key)->second != "default";
  }

  void RejectBeyond(const std::string& what, core::Millis default_ttl, core::Millis max_ttl,
                    const std::string& of) {
    if (default_ttl <= max_ttl) return;
    problems_.push_back(what + ": " + text::FormatDuration(default_ttl) + " is longer than " + of +
                        ", " + text::FormatDuration(max_ttl));
  }

  // Else leases would be shorter than somebody has written.
  void CheckTtls() {
    const core::ConfiguredLimits limits = LimitsOf(config_);
    if (IsGiven("lease.default_ttl")) {
      RejectBeyond(Named("lease.default_ttl"), limits.default_ttl, limits.max_ttl,
                   Named("lease.max_ttl"));
    }
    const std::string by_prefix = Named("lease.by_prefix");
    if (limits.ttls_by_prefix.size() > core::limits::kTtlPrefixesMax) {
      problems_.push_back(by_prefix + ": has " + std::to_string(limits.ttls_by_prefix.size()) +
                          " entries, and may have " +
                          std::to_string(core::limits::kTtlPrefixesMax));
    }
    std::set<std::string> seen;
    for (const core::PrefixTtls& ttls : limits.ttls_by_prefix) {
      const std::string quoted = text::Quoted(ttls.prefix);
      if (!seen.insert(ttls.prefix).second) {
        problems_.push_back(by_prefix + ": the prefix " + quoted + " is given twice");
      }
      if (!ttls.default_ttl) continue;
      RejectBeyond(by_prefix + ": default_ttl of " + quoted, *ttls.default_ttl,
                   ttls.max_ttl.value_or(limits.max_ttl),
                   ttls.max_ttl ? "its max_ttl" : Named("lease.max_ttl"));
    }
  }

  const LoadedConfig& loaded_;
  const Config& config_;
  std::vector<std::string> problems_;
  std::vector<std::pair<std::string, Security>> secured_;  // Listeners with TLS, as problems name
                                                           // them.
};

}  // namespace

absl::Status CheckConfig(const LoadedConfig& loaded) { return Checker(loaded).Check(); }

}  // namespace lockkeeper::config
