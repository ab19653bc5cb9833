// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor.h"

#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/admin_connection.h"
#include "cli/host_clock.h"
#include "cli/lines.h"
#include "cli/server_info.h"
#include "cli/tls_problem.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "text/duration.h"
#include "transport/channels.h"

namespace lockkeeper::cli {
namespace {

using admin::v1::GetServerInfoResponse;
using admin::v1::StoreInfo;
using google::protobuf::util::TimeUtil;
using std::chrono::hours;
using Severity = Finding::Severity;

// As the alert LockkeeperCertificateExpires.
constexpr milliseconds kCertificateWarning = hours(14 * 24);
// What NTP keeps by far; tokens, JWTs and certificates are judged by these clocks.
constexpr milliseconds kClockWarning{1'000};
// The leeway of JWTs.
constexpr milliseconds kClockError{30'000};
// Every operation takes at least as long.
constexpr milliseconds kLatencyWarning{100};

Severity OfClock(milliseconds difference) {
  if (difference >= kClockError) return Severity::kError;
  return difference >= kClockWarning ? Severity::kWarning : Severity::kOk;
}

// "1.5s ahead of", "200ms behind"
std::string Ahead(milliseconds difference) {
  const milliseconds size = difference < milliseconds(0) ? -difference : difference;
  return text::InWords(size) + (difference < milliseconds(0) ? " behind " : " ahead of ");
}

void JudgeConnection(const Examination& examined, Chart& chart) {
  if (!examined.reached.ok()) {
    if (examined.tls_problem) return chart.Fail("tls", *examined.tls_problem);
    if (!absl::IsUnavailable(examined.reached)) {
      return chart.Fail("rights", std::string(examined.reached.message()));
    }
    return chart.Fail("reach",
                      absl::StrCat(examined.reached.message(),
                                   "; does lockkeeperd run there, and does the network let "
                                   "this host through?"));
  }
  chart.Ok("reach", "it answers");
  if (examined.is_encrypted) return chart.Ok("tls", "the connection is encrypted");
  if (client::IsOnThisMachine(examined.server)) {
    return chart.Ok("tls", "the connection does not leave this machine");
  }
  chart.Warn("tls",
             "the connection is in plain text: let the daemon listen on tls:// or mtls:// and name "
             "tls:// in --server");
}

void JudgeReadiness(const Examination& examined, Chart& chart) {
  const bool is_told = examined.told.ok();
  if (is_told && examined.info.draining()) {
    return chart.Warn("ready", "it drains and is about to stop: use another server");
  }
  if (examined.is_serving) return chart.Ok("ready", "it serves");
  const std::string problem = is_told ? ProblemOf(examined.info) : "";
  chart.Fail("ready",
             absl::StrCat("it does not serve: ", problem.empty() ? "look at its log" : problem));
}

void JudgeVersions(const GetServerInfoResponse& info, const std::string& version, Chart& chart) {
  const std::string store = info.store().server_version();
  if (info.version() != version) {
    chart.Warn("version", absl::StrCat("the daemon is ", info.version(), " and this program is ",
                                       version, ": bring both to one version"));
  } else {
    chart.Ok("version", absl::StrCat("the daemon and this program are ", version,
                                     store.empty() ? "" : ", the store is ", store));
  }
}

// By how much the daemon's clock is ahead of this host's at least, whenever in the call it was
// read.
milliseconds ClockAhead(const Examination& examined) {
  const absl::Time shown =
      absl::FromUnixMicros(TimeUtil::TimestampToMicroseconds(examined.info.current_time()));
  if (shown < examined.asked) return absl::ToChronoMilliseconds(shown - examined.asked);
  if (shown > examined.answered) return absl::ToChronoMilliseconds(shown - examined.answered);
  return milliseconds(0);
}

void JudgeClocks(const Examination& examined, Chart& chart) {
  const milliseconds ahead = ClockAhead(examined);
  const Severity severity = OfClock(std::max(ahead, -ahead));
  chart.Add(severity, "clock",
            severity == Severity::kOk
                ? "the daemon's clock agrees with this host's"
                : "the daemon's clock is " + Ahead(ahead) +
                      "this host's: synchronise both (NTP), since tokens and certificates are "
                      "judged by them");
}

void JudgeCertificates(const GetServerInfoResponse& info, Chart& chart) {
  for (const auto& certificate : info.certificates()) {
    const milliseconds left = Millis(certificate.expire_time() - info.current_time());
    const std::string name = "the certificate `" + certificate.name() + "`";
    if (left <= milliseconds(0)) {
      chart.Fail("certificate", name + " has expired: put a new one into its file");
    } else if (left < kCertificateWarning) {
      chart.Warn("certificate", name + " expires in " + InDays(left) +
                                    ": put a new one into its file, which is read by itself");
    } else {
      chart.Ok("certificate", name + " expires in " + InDays(left));
    }
  }
}

bool ListensForOthers(const GetServerInfoResponse& info) {
  return std::any_of(info.grpc_addresses().begin(), info.grpc_addresses().end(),
                     [](std::string address) {
                       if (const size_t end = address.find("://"); end != std::string::npos) {
                         address.erase(0, end + 3);
                       }
                       return !client::IsOnThisMachine(address);
                     });
}

void JudgePolicy(const GetServerInfoResponse& info, Chart& chart) {
  const admin::v1::PolicyInfo& policy = info.policy();
  if (policy.restricts()) {
    chart.Ok("policy",
             absl::StrCat(policy.roles(), " roles, ", policy.bindings(), " bindings, ",
                          policy.jwt_issuers(), " issuers of JWTs, ", policy.tokens(), " tokens"));
  } else if (ListensForOthers(info)) {
    chart.Warn("policy",
               "there is none: everybody who reaches the daemon may do everything; start it with "
               "--policy (docs/guides/securing.md)");
  } else {
    chart.Ok("policy", "there is none, and only programs of its machine reach the daemon");
  }
}

void JudgeFiles(const GetServerInfoResponse& info, Chart& chart) {
  const auto warn = [&chart](const std::string& files, const std::string& problem) {
    chart.Warn("files", absl::StrCat("changed files of ", files,
                                     " cannot be used, and the former ones count: ", problem));
  };
  const std::string config = "config";
  bool is_config_told = false;
  for (const auto& refused : info.refused_files()) {
    is_config_told |= refused.files() == config;
    warn(refused.files(), refused.problem());
  }
  // The daemon counts refused files only when it has looked twice, a second later.
  if (info.has_config_file() && !info.config_file().in_use() && !is_config_told) {
    warn(config, info.config_file().problem());
  }
}

void JudgeAudit(const GetServerInfoResponse& info, Chart& chart) {
  if (!info.audit_problem().empty()) chart.Fail("audit", info.audit_problem());
}

// What waits for a restart. A file that cannot be used is a warning of `files`; this says what it
// means for a restart.
void JudgeRestart(const GetServerInfoResponse& info, Chart& chart) {
  if (!info.has_config_file()) return;
  const admin::v1::ConfigFile& file = info.config_file();
  if (!file.in_use()) {
    return chart.Note("restart", absl::StrCat(file.path(),
                                              " is refused (see `files`): mend it before the "
                                              "daemon is restarted, since it may not start"));
  }
  if (file.needs_restart().empty()) {
    return chart.Ok("restart", "no setting of the configuration file waits for a restart");
  }
  chart.Warn("restart",
             absl::StrCat("settings in ", file.path(), " wait for a restart of the daemon: ",
                          absl::StrJoin(file.needs_restart(), ", ")));
}

// What daemons tell, beside each other.
class Comparison {
 public:
  explicit Comparison(std::vector<const Examination*> told) : told_(std::move(told)) {}

  // Adds a finding if `value_of` differs, with the first server that has each value: "lk: (a:1),
  // x: (b:1)". A daemon that does not know its value has an empty one, and is left out.
  template <typename ValueOf>
  bool Differs(Severity severity, const std::string& what, const std::string& remedy,
               ValueOf value_of) {
    std::set<std::string> seen;
    std::vector<std::string> shown;
    for (const Examination* each : told_) {
      const std::string value = value_of(each->info);
      if (!value.empty() && seen.insert(value).second)
        shown.push_back(value + " (" + each->server + ")");
    }
    if (shown.size() < 2) return false;
    chart_.Add(severity, "servers", what + ": " + absl::StrJoin(shown, ", ") + "; " + remedy);
    return true;
  }

  Chart& chart() { return chart_; }

 private:
  const std::vector<const Examination*> told_;
  Chart chart_{""};
};

std::string SettingOf(const GetServerInfoResponse& info, const std::string& key) {
  const auto found = info.store().settings().find(key);
  return found == info.store().settings().end() ? "" : found->second;
}

// Whether they share their locks. Says the first cause only: each brings the ones below it.
void CompareStores(const std::vector<const Examination*>& told, Comparison& compared) {
  constexpr char kNotShared[] = "the servers do not share their locks";
  if (std::any_of(told.begin(), told.end(), [](const Examination* each) {
        return each->info.store().kind() == "embedded";
      })) {
    return compared.chart().Fail("servers",
                                 absl::StrCat(kNotShared,
                                              ", since an embedded store is known to its daemon "
                                              "only: give all of them one Redis (--redis)"));
  }
  if (compared.Differs(Severity::kError, absl::StrCat(kNotShared, ", store.key_prefix differs"),
                       "set the same one",
                       [](const auto& info) { return SettingOf(info, "store.key_prefix"); }) ||
      compared.Differs(Severity::kError, absl::StrCat(kNotShared, ", their stores are different"),
                       "give all of them one Redis and one database of it (--redis)",
                       [](const auto& info) { return info.store().id(); }) ||
      compared.Differs(Severity::kError,
                       absl::StrCat(kNotShared, ", each sees another server of Redis"),
                       "unless Redis was replaced or started again just now, give all of them the "
                       "same one (--redis)",
                       [](const auto& info) { return info.store().run_id(); })) {
    return;
  }
  compared.Differs(Severity::kWarning, "the servers see different epochs of the store",
                   "if that lasts, look at the log of the one that is behind",
                   [](const auto& info) {
                     const int64_t epoch = info.store().epoch();
                     return epoch == 0 ? "" : absl::StrCat("epoch ", epoch);
                   });
}

Examination Examine(const Service& service, const std::string& server) {
  Examination examined{.server = server, .is_encrypted = client::UsesTls(server, service.tls)};
  Service alone = service;
  alone.servers = {server};
  auto connection = AdminConnection::Connect(alone);
  examined.reached = connection.status();
  if (!connection.ok()) {
    examined.tls_problem = FindTlsProblem(server, service.tls);
    return examined;
  }
  grpc::health::v1::HealthCheckResponse health;
  const auto stub = grpc::health::v1::Health::NewStub(connection->channel());
  examined.reached = connection->Call(
      [&](grpc::ClientContext& context) { return stub->Check(&context, {}, &health); });
  examined.is_serving = health.status() == grpc::health::v1::HealthCheckResponse::SERVING;
  if (!examined.reached.ok()) return examined;
  examined.asked = HostTime();
  auto info = AskServerInfo(*connection);
  examined.answered = HostTime();
  examined.told = info.status();
  if (info.ok()) examined.info = *std::move(info);
  return examined;
}

}  // namespace

void JudgeStoreClock(const StoreInfo& store, Chart& chart) {
  if (!store.has_clock_ahead()) return;
  const milliseconds store_ahead = Millis(store.clock_ahead());
  const Severity of_store = OfClock(std::max(store_ahead, -store_ahead));
  // Nothing compares these two, but a store that is wrong by much is set some day.
  chart.Add(of_store == Severity::kError ? Severity::kWarning : of_store, "store_clock",
            of_store == Severity::kOk
                ? "the store's clock agrees with the daemon's"
                : "the store's clock is " + Ahead(store_ahead) +
                      "the daemon's: synchronise both (NTP) slowly, since a step of the store's "
                      "clock is a quarantine");
}

void JudgeStore(const StoreInfo& store, Chart& chart) {
  if (!store.reachable()) {
    return chart.Fail("store", StoreText(store) + "; see docs/operating/troubleshooting.md");
  }
  if (store.has_quarantine_left() && Millis(store.quarantine_left()).count() > 0) {
    chart.Warn("quarantine",
               absl::StrCat("nothing new is granted for another ",
                            text::InWords(Millis(store.quarantine_left())), ": ",
                            store.last_loss_detail().empty() ? "the store may have forgotten leases"
                                                             : store.last_loss_detail(),
                            "; holders go on; if you know that nobody works: lockkeeper "
                            "end-quarantine --epoch ",
                            store.epoch(), " --reason TEXT --accept-two-holders"));
  } else {
    chart.Ok("quarantine", "none");
  }
  // The daemon names a quarantine only if nothing else keeps it from granting.
  if (const std::string& why = store.grant_problem();
      !why.empty() && !why.starts_with("quarantined ")) {
    chart.Fail("store", why);
  } else {
    chart.Ok("store", absl::StrCat(StoreText(store), ", epoch ", store.epoch()));
  }
  if (store.has_latency()) {
    const std::string latency = absl::StrCat(
        "the store answers in ", TimeUtil::DurationToMicroseconds(store.latency()), " us");
    const bool is_slow = Millis(store.latency()) >= kLatencyWarning;
    chart.Add(is_slow ? Severity::kWarning : Severity::kOk, "store_latency",
              is_slow ? latency +
                            ": every operation takes as long; look at the network and at what "
                            "else keeps the store busy"
                      : latency);
  }
  // A note that begins with a setting tells what was given up by it.
  for (const std::string& note : store.notes()) {
    const bool is_choice = store.settings().contains(note.substr(0, note.find(' ')));
    chart.Add(is_choice ? Severity::kWarning : Severity::kNote, "settings", note);
  }
}

std::vector<Finding> Judge(const Examination& examined, const std::string& version) {
  Chart chart(examined.server);
  JudgeConnection(examined, chart);
  if (!examined.reached.ok()) return std::move(chart).Take();
  JudgeReadiness(examined, chart);
  if (!examined.told.ok()) {
    const bool is_denied = absl::IsPermissionDenied(examined.told);
    chart.Add(is_denied ? Severity::kWarning : Severity::kError, "rights",
              absl::StrCat(examined.told.message(),
                           is_denied ? ": ask for the right `admin` to learn more" : ""));
    return std::move(chart).Take();
  }
  JudgeVersions(examined.info, version, chart);
  JudgeClocks(examined, chart);
  JudgeStoreClock(examined.info.store(), chart);
  JudgeStore(examined.info.store(), chart);
  JudgeCertificates(examined.info, chart);
  JudgePolicy(examined.info, chart);
  JudgeFiles(examined.info, chart);
  JudgeAudit(examined.info, chart);
  JudgeRestart(examined.info, chart);
  return std::move(chart).Take();
}

std::vector<Finding> Compare(const std::vector<Examination>& examined) {
  std::vector<const Examination*> told;
  for (const Examination& each : examined) {
    if (each.reached.ok() && each.told.ok()) told.push_back(&each);
  }
  if (told.size() < 2) return {};
  Comparison compared(told);
  CompareStores(told, compared);
  compared.Differs(Severity::kWarning, "the daemons have different versions", "finish the upgrade",
                   [](const auto& info) { return info.version(); });
  compared.Differs(Severity::kWarning, "store.assurance differs", "set the same one",
                   [](const auto& info) { return SettingOf(info, "store.assurance"); });
  compared.Differs(Severity::kWarning, "lease.max_ttl differs", "set the same one",
                   [](const auto& info) { return text::InWords(Millis(info.max_ttl())); });
  std::vector<Finding> findings = std::move(compared.chart()).Take();
  if (findings.empty()) {
    // A daemon that has not reached its store yet, or of an earlier version.
    const bool is_known = std::none_of(told.begin(), told.end(), [](const Examination* each) {
      return each->info.store().run_id().empty();
    });
    findings.push_back({Severity::kOk, "", "servers",
                        absl::StrCat("their versions and settings agree, and ",
                                     is_known ? "they use one store"
                                              : "whether they use one store is not known")});
  }
  return findings;
}

Report Doctor(const Service& service, const std::string& version) {
  std::vector<Examination> examined;
  std::vector<Finding> findings;
  for (const std::string& server : service.servers) {
    examined.push_back(Examine(service, server));
    std::vector<Finding> found = Judge(examined.back(), version);
    std::move(found.begin(), found.end(), std::back_inserter(findings));
  }
  std::vector<Finding> found = Compare(examined);
  std::move(found.begin(), found.end(), std::back_inserter(findings));
  return ReportOf(findings);
}

}  // namespace lockkeeper::cli
