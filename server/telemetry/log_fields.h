// SPDX-License-Identifier: Apache-2.0
//
// Every field that a log record may have: name, type and unit in one place.
// docs/reference/log_events.md lists the same names; a test compares them and checks that each is
// used.
#pragma once

#include <string_view>

#include "telemetry/log_field.h"

namespace lockkeeper::telemetry::field {

using core::Micros;
using core::Millis;

// Of the request.
inline LogField RequestId(std::string_view id) { return {"request_id", id}; }
inline LogField Rpc(std::string_view name) { return {"rpc", name}; }
inline LogField Peer(std::string_view address) { return {"peer", address}; }
inline LogField Principal(std::string_view name) { return {"principal", name}; }
inline LogField OwnerId(std::string_view owner) { return {"owner_id", owner}; }

// Of the domain.
inline LogField LockName(std::string_view name) { return {"lock_name", name}; }
inline LogField LeaseIdPrefix(const core::LeaseId& id) {
  return {"lease_id_prefix", telemetry::LeaseIdPrefix(id)};
}
inline LogField FencingToken(core::FencingToken token) { return {"fencing_token", token.value}; }
inline LogField Wait(Millis waited) { return {"wait_ms", waited.count()}; }

// Of the store.
inline LogField Connection(size_t number) { return {"connection", number}; }
inline LogField Script(std::string_view name) { return {"script", name}; }
inline LogField ServerVersion(std::string_view version) { return {"server_version", version}; }
inline LogField Server(std::string_view address) { return {"server", address}; }
inline LogField ConfigEpoch(int64_t number) { return {"config_epoch", number}; }
inline LogField Assurance(std::string_view level) { return {"assurance", level}; }
inline LogField Epoch(int64_t number) { return {"epoch", number}; }
inline LogField Quarantine(Millis left) { return {"quarantine_ms", left.count()}; }
inline LogField QuarantineEnd(std::string_view time) { return {"quarantine_end", time}; }
inline LogField Loss(std::string_view kind) { return {"loss", kind}; }

// Of the result.
inline LogField Outcome(std::string_view outcome) { return {"outcome", outcome}; }
inline LogField Code(std::string_view code) { return {"code", code}; }
inline LogField Reason(std::string_view reason) { return {"reason", reason}; }
inline LogField Elapsed(Micros time) { return {"elapsed_us", time.count()}; }
inline LogField Problem(std::string_view text) { return {"problem", text}; }
inline LogField Detail(std::string_view text) { return {"detail", text}; }

// Of the audit: whose lease an administrator ended, why, and for how long the lock stays closed.
inline LogField HolderOwner(std::string_view owner) { return {"holder_owner", owner}; }
inline LogField AuditReason(std::string_view text) { return {"audit_reason", text}; }
inline LogField ClosedFor(Micros time) {
  return {"closed_for_ms", std::chrono::duration_cast<core::Millis>(time).count()};
}

inline LogField Records(int64_t number) { return {"records", number}; }

// Of the process.
inline LogField Build(std::string_view version) { return {"build", version}; }
inline LogField Commit(std::string_view hash) { return {"commit", hash}; }
inline LogField Pid(int64_t pid) { return {"pid", pid}; }
inline LogField Signal(std::string_view name) { return {"signal", name}; }
inline LogField Address(std::string_view address) { return {"address", address}; }
inline LogField Path(std::string_view path) { return {"path", path}; }
inline LogField Setting(std::string_view key) { return {"setting", key}; }
inline LogField Before(std::string_view value) { return {"before", value}; }
inline LogField After(std::string_view value) { return {"after", value}; }
inline LogField Settings(std::string_view keys) { return {"settings", keys}; }
inline LogField Files(std::string_view what) { return {"files", what}; }
inline LogField Limit(Millis time) { return {"limit_ms", time.count()}; }
inline LogField Parts(size_t number) { return {"parts", number}; }
inline LogField Connections(size_t number) { return {"connections", number}; }
inline LogField Descriptors(size_t number) { return {"descriptors", number}; }
inline LogField Outstanding(int64_t operations) { return {"outstanding", operations}; }

// Of the log itself: records left out before this one.
inline LogField Suppressed(int64_t records) { return {"suppressed", records}; }
inline LogField Lost(int64_t records) { return {"lost", records}; }

}  // namespace lockkeeper::telemetry::field
