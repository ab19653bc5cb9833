// SPDX-License-Identifier: Apache-2.0
#include "rpc/session_log.h"

#include <string>
#include <vector>

#include "telemetry/log_fields.h"

namespace lockkeeper::rpc {

namespace field = telemetry::field;

namespace {

// Whose session it is.
std::vector<telemetry::LogField> FieldsOf(Caller& caller, std::string_view owner) {
  std::vector<telemetry::LogField> fields = {field::RequestId(caller.RequestId())};
  if (!caller.principal().empty()) fields.push_back(field::Principal(caller.principal()));
  fields.push_back(field::OwnerId(owner));
  return fields;
}

}  // namespace

void LogAdoption(const telemetry::Logger& logger, Caller& caller, std::string_view owner,
                 const v1::SessionAdoptResult& result) {
  if (!logger.Enabled(telemetry::LogLevel::kDebug)) return;
  const std::string peer = caller.Peer();
  std::vector<telemetry::LogField> fields = FieldsOf(caller, owner);
  fields.push_back(field::Peer(peer));
  fields.push_back(field::LockName(result.name()));
  if (result.has_lease()) {
    fields.push_back(field::FencingToken({result.lease().fencing_token()}));
    logger.Debug("session.adopted", "A session keeps a lease that was granted before", fields);
  } else {
    fields.push_back(field::Problem(result.error().message()));
    logger.Debug("session.not_adopted", "A session wanted to keep a lease, and cannot", fields);
  }
}

void LogReleaseAtClose(const telemetry::Logger& logger, Caller& caller, std::string_view owner,
                       int32_t released) {
  if (!logger.Enabled(telemetry::LogLevel::kDebug)) return;
  const std::string detail = "leases released: " + std::to_string(released);
  std::vector<telemetry::LogField> fields = FieldsOf(caller, owner);
  fields.push_back(field::Detail(detail));
  logger.Debug("session.released", "A session that was closed has released its leases", fields);
}

}  // namespace lockkeeper::rpc
