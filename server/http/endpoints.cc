// SPDX-License-Identifier: Apache-2.0
#include "http/endpoints.h"

#include <algorithm>
#include <utility>

namespace lockkeeper::http {
namespace {

constexpr char kExposition[] = "text/plain; version=0.0.4; charset=utf-8";

// Problems come from other programs and may hold anything.
std::string OneLine(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char character) { return character >= 0 && character < ' '; },
      ' ');
  return text + "\n";
}

Page Liveness(const telemetry::Health& health) {
  if (health.loop_turns) return {.body = "ok\n"};
  return {.status = 503, .body = OneLine(health.problem())};
}

Page Readiness(const telemetry::Health& health, core::Instant now) {
  if (!health.serving()) {
    return {.status = 503, .body = OneLine(health.problem())};
  }
  std::string body =
      health.granting() ? "ready\n" : OneLine("ready; " + health.store.GrantProblem(now));
  if (!health.audit_problem.empty()) body += OneLine(health.audit_problem);
  for (const std::string& note : health.notes()) body += OneLine("note: " + note);
  return {.body = std::move(body)};
}

}  // namespace

std::vector<Route> OperatingPages(const telemetry::HealthBoard& health,
                                  const telemetry::Metrics& metrics, const core::Clock& clock) {
  return {
      {.path = "/healthz", .page = [&health] { return Liveness(health.Current()); }},
      {.path = "/readyz",
       .page = [&health, &clock] { return Readiness(health.Current(), clock.Now()); }},
      {.path = "/metrics",
       .page = [&metrics] { return Page{.content_type = kExposition, .body = metrics.Expose()}; }},
  };
}

}  // namespace lockkeeper::http
