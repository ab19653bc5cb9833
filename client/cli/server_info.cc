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
std::map<std::string, std::string> SettingsOf(const StoreInfo& store) {
  return {store.settings().begin(), store.settings().end()};
}

std::string SettingLines(const StoreInfo& store) {
  std::string lines;
  for (const auto& [key, value] : SettingsOf(store)) {
    absl::StrAppend(&lines, Line(lines.empty() ? "settings" : "",
                                 absl::StrCat(key, " ", value.empty() ? "none" : value)));
  }
  return lines;
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
  absl::StrAppend(
      &text, Line("policy", PolicyText(info.policy())),
      Line("max ttl", text::InWords(Millis(info.max_ttl()))), Line("store", StoreText(store)),
      Line("", LookText(store)), Line("assurance", AssuranceWord(store.assurance())),
      Line("epoch", absl::StrCat(store.epoch())), Line("quarantine", QuarantineText(store)),
      Line("last loss", LossText(store)), SettingLines(store));
  for (const std::string& note : store.notes()) absl::StrAppend(&text, Line("note", note));
  for (const auto& refused : info.refused_files()) {
    absl::StrAppend(&text, Line("not in use", refused.files() + ": " + refused.problem()));
  }
  return text;
}

JsonObject StoreJson(const StoreInfo& store) {
  JsonObject settings;
  for (const auto& [key, value] : SettingsOf(store)) settings.Set(key, value);
  JsonObject json;
  json.Set("kind", store.kind())
      .Set("address", store.address())
      .Set("reachable", store.reachable())
      .Set("server_version", store.server_version())
      .Set("assurance", AssuranceWord(store.assurance()))
      .Set("epoch", store.epoch())
      .Set("settings", settings)
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
}

Report Info(AdminConnection& connection) {
  const auto info = AskServerInfo(connection);
  if (!info.ok()) return ErrorReport(info.status(), "");
  Report report("info", ExitCode::kDone, InfoText(*info));
  SetServerInfo(*info, report.json);
  return report;
}

}  // namespace lockkeeper::cli
