// SPDX-License-Identifier: Apache-2.0
#include "cli/server_info.h"

#include <google/protobuf/util/time_util.h>

#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/lines.h"
#include "lockkeeper/admin/v1/admin_service.grpc.pb.h"
#include "text/duration.h"

namespace lockkeeper::cli {
namespace {

using admin::v1::GetServerInfoResponse;
using admin::v1::StoreInfo;
using google::protobuf::util::TimeUtil;

std::string AssuranceWord(v1::Assurance assurance) {
  return EnumWord(v1::Assurance_Name(assurance), "ASSURANCE_");
}

std::string StateText(const GetServerInfoResponse& info) {
  if (!info.problem().empty()) return "not serving: " + info.problem();
  // These two of a daemon of a version before `problem`.
  if (info.draining()) return "draining: it is about to stop";
  if (!info.store().reachable()) return "not serving: the store cannot be reached";
  if (!info.store().grant_problem().empty()) return info.store().grant_problem();
  return "serving";
}

std::string LookText(const StoreInfo& store) {
  if (!store.has_latency()) return "";
  std::string text =
      absl::StrCat(TimeUtil::DurationToMicroseconds(store.latency()), " us to its answer");
  if (!store.has_clock_ahead()) return text;
  const milliseconds ahead = Millis(store.clock_ahead());
  return absl::StrCat(text, "; its clock is ", std::abs(ahead.count()), " ms ",
                      ahead.count() < 0 ? "behind" : "ahead of", " the daemon's");
}

std::string QuarantineText(const StoreInfo& store) {
  if (!store.has_quarantine_end_time()) return "none";
  const std::string end = TimeUtil::ToString(store.quarantine_end_time());
  const milliseconds left = Millis(store.quarantine_left());
  return left.count() > 0 ? absl::StrCat("until ", end, ", for another ", text::InWords(left))
                          : "ended " + end;
}

std::string LossText(const StoreInfo& store) {
  if (store.last_loss().empty()) return store.last_loss_detail();
  return absl::StrCat(store.last_loss(), ": ", store.last_loss_detail());
}

// Sorted by key, because the map of a proto has no order.
template <typename Message>
std::map<std::string, std::string> SettingsOf(const Message& of) {
  return {of.settings().begin(), of.settings().end()};
}

template <typename Message>
JsonObject SettingsJson(const Message& of) {
  JsonObject json;
  for (const auto& [key, value] : SettingsOf(of)) json.Set(key, value);
  return json;
}

template <typename Message>
std::string SettingLines(const std::string& title, const Message& of) {
  std::string lines;
  for (const auto& [key, value] : SettingsOf(of)) {
    absl::StrAppend(&lines, Line(lines.empty() ? title : "",
                                 absl::StrCat(key, " ", value.empty() ? "none" : value)));
  }
  return lines;
}

// Of a daemon that was started with a configuration file.
std::string ConfigFileLines(const admin::v1::ConfigFile& file) {
  std::string lines =
      Line("config file", absl::StrCat(file.path(), ", read ", TimeUtil::ToString(file.read_time()),
                                       file.in_use() ? "" : "; what it holds now is not in use"));
  std::string needs_restart = absl::StrJoin(file.needs_restart(), ", ");
  if (!file.in_use() && !needs_restart.empty()) {
    needs_restart += ", by the file as it was in use last";
  }
  absl::StrAppend(&lines, SettingLines("changeable", file), Line("needs restart", needs_restart));
  return lines;
}

JsonObject ConfigFileJson(const admin::v1::ConfigFile& file) {
  JsonObject json;
  json.Set("path", file.path())
      .Set("read_time", TimeUtil::ToString(file.read_time()))
      .Set("in_use", file.in_use())
      .Set("settings", SettingsJson(file))
      .Set("needs_restart",
           std::vector<std::string>(file.needs_restart().begin(), file.needs_restart().end()));
  if (!file.problem().empty()) json.Set("problem", file.problem());
  return json;
}

std::string CertificateLines(const GetServerInfoResponse& info) {
  std::string lines;
  for (const auto& certificate : info.certificates()) {
    const milliseconds left = Millis(certificate.expire_time() - info.current_time());
    absl::StrAppend(
        &lines, Line("certificate", absl::StrCat(certificate.name(),
                                                 left.count() < 0 ? ": expired " : ": expires ",
                                                 TimeUtil::ToString(certificate.expire_time()),
                                                 left.count() < 0 ? "" : ", in " + InDays(left))));
  }
  return lines;
}

std::string PolicyText(const admin::v1::PolicyInfo& policy) {
  const std::string proofs =
      absl::StrCat("; ", policy.jwt_issuers(), " issuers of JWTs, ", policy.tokens(), " tokens");
  if (!policy.restricts()) {
    return "none: everybody who reaches the daemon may do everything" + proofs;
  }
  return absl::StrCat(policy.roles(), " roles, ", policy.bindings(), " bindings", proofs);
}

std::string InfoText(const GetServerInfoResponse& info) {
  const StoreInfo& store = info.store();
  std::string text = absl::StrCat(
      "lockkeeperd ", info.version(), Line("state", StateText(info)),
      Line("daemon id", info.daemon_id()),
      Line("started", absl::StrCat(TimeUtil::ToString(info.start_time()), ", ",
                                   InDays(Millis(info.uptime())), " ago")),
      Line("grpc", absl::StrJoin(info.grpc_addresses(), ", ")), Line("http", info.http_address()),
      Line("sessions",
           absl::StrCat(info.sessions(), ", which keep ", info.session_leases(), " leases")),
      Line("waiters", absl::StrCat(info.waiters())), CertificateLines(info));
  absl::StrAppend(&text, Line("policy", PolicyText(info.policy())),
                  Line("max ttl", text::InWords(Millis(info.max_ttl()))),
                  Line("store", StoreText(store)), Line("", LookText(store)),
                  Line("assurance", AssuranceWord(store.assurance())), Line("store id", store.id()),
                  Line("run id", store.run_id()), Line("epoch", absl::StrCat(store.epoch())),
                  Line("quarantine", QuarantineText(store)), Line("last loss", LossText(store)),
                  SettingLines("settings", store));
  if (info.has_config_file()) absl::StrAppend(&text, ConfigFileLines(info.config_file()));
  for (const std::string& note : store.notes()) absl::StrAppend(&text, Line("note", note));
  absl::StrAppend(&text, Line("audit", info.audit_problem()));
  for (const auto& refused : info.refused_files()) {
    absl::StrAppend(&text, Line("not in use", refused.files() + ": " + refused.problem()));
  }
  return text;
}

JsonObject StoreJson(const StoreInfo& store) {
  JsonObject json;
  json.Set("kind", store.kind())
      .Set("address", store.address())
      .Set("id", store.id())
      .Set("run_id", store.run_id())
      .Set("reachable", store.reachable())
      .Set("server_version", store.server_version())
      .Set("assurance", AssuranceWord(store.assurance()))
      .Set("epoch", store.epoch())
      .Set("settings", SettingsJson(store))
      .Set("notes", std::vector<std::string>(store.notes().begin(), store.notes().end()));
  if (!store.problem().empty()) json.Set("problem", store.problem());
  if (!store.grant_problem().empty()) json.Set("grant_problem", store.grant_problem());
  if (store.has_latency()) {
    json.Set("latency_us", TimeUtil::DurationToMicroseconds(store.latency()));
  }
  if (store.has_clock_ahead()) {
    json.Set("clock_ahead_ms", Millis(store.clock_ahead()).count());
  }
  if (store.has_quarantine_end_time()) {
    json.Set("quarantine_end_time", TimeUtil::ToString(store.quarantine_end_time()))
        .Set("quarantine_left_ms", Millis(store.quarantine_left()).count());
  }
  if (!store.last_loss().empty()) json.Set("last_loss", store.last_loss());
  if (store.has_last_loss_time()) {
    json.Set("last_loss_time", TimeUtil::ToString(store.last_loss_time()));
  }
  return json;
}

JsonObject PolicyJson(const admin::v1::PolicyInfo& policy) {
  JsonObject json;
  json.Set("restricts", policy.restricts())
      .Set("roles", policy.roles())
      .Set("bindings", policy.bindings())
      .Set("jwt_issuers", policy.jwt_issuers())
      .Set("tokens", policy.tokens());
  return json;
}

}  // namespace

absl::StatusOr<GetServerInfoResponse> AskServerInfo(AdminConnection& connection) {
  const auto stub = admin::v1::AdminService::NewStub(connection.channel());
  GetServerInfoResponse info;
  const absl::Status status = connection.Call(
      [&](grpc::ClientContext& context) { return stub->GetServerInfo(&context, {}, &info); });
  if (!status.ok()) return status;
  return info;
}

std::string ProblemOf(const GetServerInfoResponse& info) {
  return info.problem().empty() ? info.store().problem() : info.problem();
}

std::string StoreText(const StoreInfo& store) {
  std::string text = store.kind() + " " + store.address();
  if (!store.server_version().empty()) text += " (" + store.server_version() + ")";
  if (!store.problem().empty()) text += ": " + store.problem();
  return text;
}

void SetServerInfo(const GetServerInfoResponse& info, JsonObject& json) {
  std::vector<JsonObject> certificates;
  for (const auto& certificate : info.certificates()) {
    certificates.emplace_back()
        .Set("name", certificate.name())
        .Set("expire_time", TimeUtil::ToString(certificate.expire_time()));
  }
  std::vector<JsonObject> refused;
  for (const auto& files : info.refused_files()) {
    refused.emplace_back().Set("files", files.files()).Set("problem", files.problem());
  }
  json.Set("version", info.version())
      .Set("daemon_id", info.daemon_id())
      .Set("start_time", TimeUtil::ToString(info.start_time()))
      .Set("uptime_ms", Millis(info.uptime()).count())
      .Set("current_time", TimeUtil::ToString(info.current_time()))
      .Set("draining", info.draining())
      .Set("grpc_addresses",
           std::vector<std::string>(info.grpc_addresses().begin(), info.grpc_addresses().end()))
      .Set("http_address", info.http_address())
      .Set("sessions", info.sessions())
      .Set("session_leases", info.session_leases())
      .Set("waiters", info.waiters())
      .Set("max_ttl_ms", Millis(info.max_ttl()).count())
      .Set("record_retention_ms", Millis(info.record_retention()).count())
      .Set("store", StoreJson(info.store()))
      .Set("certificates", certificates)
      .Set("policy", PolicyJson(info.policy()))
      .Set("refused_files", refused);
  if (!info.problem().empty()) json.Set("problem", info.problem());
  if (!info.audit_problem().empty()) json.Set("audit_problem", info.audit_problem());
  if (info.has_config_file()) json.Set("config_file", ConfigFileJson(info.config_file()));
}

Report Info(AdminConnection& connection) {
  const auto info = AskServerInfo(connection);
  if (!info.ok()) return ErrorReport(info.status(), "");
  Report report("info", ExitCode::kDone, InfoText(*info));
  SetServerInfo(*info, report.json);
  return report;
}

}  // namespace lockkeeper::cli
