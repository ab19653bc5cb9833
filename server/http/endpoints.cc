// SPDX-License-Identifier: Apache-2.0
#include "http/endpoints.h"

#include <algorithm>
#include <utility>

namespace lockkeeper::http {
namespace {

constexpr char kPlainText[] = "text/plain; charset=utf-8";
constexpr char kExposition[] = "text/plain; version=0.0.4; charset=utf-8";

// Problems come from other programs and may hold anything.
std::string OneLine(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char character) { return character >= 0 && character < ' '; },
      ' ');
  return text + "\n";
}

Page Readiness(const telemetry::Health& health, core::Instant now) {
  if (!health.serving()) {
    return {.status = 503, .content_type = kPlainText, .body = OneLine(health.problem())};
  }
  std::string body =
      health.granting() ? "ready\n" : OneLine("ready; " + health.grants.Problem(now));
  for (const std::string& note : health.notes()) body += OneLine("note: " + note);
  return {.content_type = kPlainText, .body = std::move(body)};
}

}  // namespace

Page PageOf(const std::string& path, const telemetry::HealthBoard& health,
            const telemetry::Metrics& metrics, core::Instant now) {
  if (path == "/healthz") return {.content_type = kPlainText, .body = "ok\n"};
  if (path == "/readyz") return Readiness(health.Current(), now);
  if (path == "/metrics") return {.content_type = kExposition, .body = metrics.Expose()};
  return {.status = 404,
          .content_type = kPlainText,
          .body = "not found; the pages are /healthz, /readyz and /metrics\n"};
}

}  // namespace lockkeeper::http
