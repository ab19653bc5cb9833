// SPDX-License-Identifier: Apache-2.0
//
// Name, type, labels and help of every metric, in one place. docs/reference/metrics.md has the same
// rows, with meaning and alert. A test compares both with the exposed metrics.
#pragma once

#include <array>
#include <string_view>

namespace lockkeeper::telemetry {

enum class MetricKind { kCounter, kGauge, kHistogram };

struct MetricInfo {
  MetricKind kind;
  std::string_view name;
  std::string_view labels;  // Separated by commas; empty: none.
  std::string_view help;
};

namespace catalog {

using enum MetricKind;

inline constexpr MetricInfo kBuildInfo{kGauge, "lockkeeper_build_info", "version,commit",
                                       "Always 1; what this daemon was built from"};
inline constexpr MetricInfo kRpcTotal{kCounter, "lockkeeper_rpc_total", "rpc,outcome,code",
                                      "Requests answered"};
inline constexpr MetricInfo kRpcSeconds{kHistogram, "lockkeeper_rpc_seconds", "rpc",
                                        "Time from request to answer, waiting included"};
inline constexpr MetricInfo kStoreUp{kGauge, "lockkeeper_store_up", "",
                                     "1 if the daemon reaches the store"};
inline constexpr MetricInfo kStoreGranting{kGauge, "lockkeeper_store_granting", "",
                                           "1 if new leases are granted"};
inline constexpr MetricInfo kStoreEpoch{
    kGauge, "lockkeeper_store_epoch", "",
    "Epoch of the store: 1, plus 1 for each time that it may have forgotten leases"};
inline constexpr MetricInfo kQuarantineEnd{kGauge, "lockkeeper_store_quarantine_end_seconds", "",
                                           "When the last quarantine ends or ended, Unix time"};
inline constexpr MetricInfo kStoreLossTotal{kCounter, "lockkeeper_store_loss_total", "loss",
                                            "Times that the store may have forgotten leases"};
inline constexpr MetricInfo kReassertionTotal{kCounter, "lockkeeper_reassertion_total", "end",
                                              "Proofs of leases that the store may have forgotten"};
inline constexpr MetricInfo kGrantRefusedTotal{kCounter, "lockkeeper_grant_refused_total", "",
                                               "Requests rejected because nothing new is granted"};
inline constexpr MetricInfo kDraining{kGauge, "lockkeeper_draining", "",
                                      "1 if the daemon is about to stop"};
inline constexpr MetricInfo kRedisReconnectTotal{
    kCounter, "lockkeeper_redis_reconnect_total", "",
    "Connections to Redis that were replaced after one broke"};
inline constexpr MetricInfo kRedisPrimaryTotal{kCounter, "lockkeeper_redis_primary_total", "",
                                               "Primaries that Sentinels have named"};
inline constexpr MetricInfo kRedisScriptReloadTotal{
    kCounter, "lockkeeper_redis_script_reload_total", "",
    "Scripts sent again because Redis had lost them"};
inline constexpr MetricInfo kRedisCommandSeconds{kHistogram, "lockkeeper_redis_command_seconds",
                                                 "script,outcome",
                                                 "Time from sending a script call to its reply"};
inline constexpr MetricInfo kRedisConfirmationSeconds{
    kHistogram, "lockkeeper_redis_confirmation_seconds", "outcome",
    "Time that replicas took to confirm what Redis had replied to"};
inline constexpr MetricInfo kRedisSentinels{
    kGauge, "lockkeeper_redis_sentinels", "state",
    "Sentinels that this daemon knows, and those whose answer counts now"};
inline constexpr MetricInfo kRedisClusterPrimaries{
    kGauge, "lockkeeper_redis_cluster_primaries", "state",
    "Primaries of the Cluster that this daemon knows, and those it is connected to"};
inline constexpr MetricInfo kRedisPartsMovedTotal{
    kCounter, "lockkeeper_redis_parts_moved_total", "",
    "Parts of the store that another server of the Cluster serves than before"};
inline constexpr MetricInfo kSessions{kGauge, "lockkeeper_sessions", "", "Sessions that are open"};
inline constexpr MetricInfo kSessionLeases{kGauge, "lockkeeper_session_leases", "",
                                           "Leases that the open sessions hold"};
inline constexpr MetricInfo kWaiters{kGauge, "lockkeeper_waiters", "",
                                     "Acquires of this daemon that stand in line"};
inline constexpr MetricInfo kWaitSeconds{kHistogram, "lockkeeper_wait_seconds", "end",
                                         "Time that acquires stood in line, by how it ended"};
inline constexpr MetricInfo kSlowWaitTotal{kCounter, "lockkeeper_slow_wait_total", "",
                                           "Locks granted after a wait beyond waiters.slow_wait"};
inline constexpr MetricInfo kLinePosition{kHistogram, "lockkeeper_line_position", "",
                                          "Places at which acquires joined the line of a lock"};
inline constexpr MetricInfo kHoldSeconds{kHistogram, "lockkeeper_hold_seconds", "",
                                         "Time that leases were held until they were released"};
inline constexpr MetricInfo kSessionHeartbeatSeconds{
    kHistogram, "lockkeeper_session_heartbeat_seconds", "",
    "Time from a heartbeat of a session until its leases were extended"};
inline constexpr MetricInfo kSessionLeaseLostTotal{
    kCounter, "lockkeeper_session_lease_lost_total", "",
    "Leases that the heartbeat of their session found lost"};
inline constexpr MetricInfo kQuotaRefusedTotal{kCounter, "lockkeeper_quota_refused_total", "quota",
                                               "Operations refused because of a quota"};
inline constexpr MetricInfo kWithdrawalTotal{kCounter, "lockkeeper_withdrawal_total", "end",
                                             "Withdrawals of acquires, by their end"};
inline constexpr MetricInfo kLeaseExpiredTotal{kCounter, "lockkeeper_lease_expired_total", "",
                                               "Grants after a lease that ended without a release"};
inline constexpr MetricInfo kInvariantViolatedTotal{
    kCounter, "lockkeeper_invariant_violated_total", "",
    "States found that should be impossible; always a defect"};
inline constexpr MetricInfo kEventLoopLagSeconds{kHistogram, "lockkeeper_event_loop_lag_seconds",
                                                 "", "How late the event loop ran a timer"};
inline constexpr MetricInfo kEventLoopStuck{kGauge, "lockkeeper_event_loop_stuck", "",
                                            "1 if the event loop has stood still for 5 s"};
inline constexpr MetricInfo kConnectionsClosedTotal{
    kCounter, "lockkeeper_connections_closed_total", "reason",
    "Connections of clients that the daemon closed to protect itself"};
inline constexpr MetricInfo kFileReloadTotal{
    kCounter, "lockkeeper_file_reload_total", "files,outcome",
    "Changes of files that the daemon noticed, and whether it uses them"};
inline constexpr MetricInfo kFilesRefused{kGauge, "lockkeeper_files_refused", "files",
                                          "1 while changed files cannot be used"};
inline constexpr MetricInfo kSettingsNeedRestart{
    kGauge, "lockkeeper_settings_need_restart", "",
    "Settings of the configuration file that wait for a restart"};
inline constexpr MetricInfo kCertificateExpiry{
    kGauge, "lockkeeper_certificate_expiry_seconds", "certificate",
    "When a certificate of this daemon expires, Unix time"};
inline constexpr MetricInfo kAuditDroppedTotal{
    kCounter, "lockkeeper_audit_dropped_total", "",
    "Audit records that were not written because too many waited"};
inline constexpr MetricInfo kAuditWriteFailedTotal{kCounter, "lockkeeper_audit_write_failed_total",
                                                   "",
                                                   "Attempts to write audit records that failed"};
inline constexpr MetricInfo kTracesExportedTotal{kCounter, "lockkeeper_traces_exported_total", "",
                                                 "Spans that the collector has taken"};
inline constexpr MetricInfo kTracesDroppedTotal{
    kCounter, "lockkeeper_traces_dropped_total", "",
    "Spans that were dropped: too many waited, or the collector did not take them"};
// Names that every Prometheus client library uses.
inline constexpr MetricInfo kProcessCpuSecondsTotal{kCounter, "process_cpu_seconds_total", "",
                                                    "CPU time used, user and system"};
inline constexpr MetricInfo kProcessResidentMemoryBytes{kGauge, "process_resident_memory_bytes", "",
                                                        "Memory that is in RAM"};
inline constexpr MetricInfo kProcessOpenFds{kGauge, "process_open_fds", "",
                                            "Open file descriptors"};
inline constexpr MetricInfo kProcessMaxFds{kGauge, "process_max_fds", "",
                                           "Highest number of open file descriptors allowed"};
inline constexpr MetricInfo kProcessStartTimeSeconds{kGauge, "process_start_time_seconds", "",
                                                     "When the process started, Unix time"};

inline constexpr std::array kAll = {
    kBuildInfo,
    kRpcTotal,
    kRpcSeconds,
    kStoreUp,
    kStoreGranting,
    kStoreEpoch,
    kQuarantineEnd,
    kStoreLossTotal,
    kReassertionTotal,
    kGrantRefusedTotal,
    kDraining,
    kRedisReconnectTotal,
    kRedisPrimaryTotal,
    kRedisScriptReloadTotal,
    kRedisCommandSeconds,
    kRedisConfirmationSeconds,
    kRedisSentinels,
    kRedisClusterPrimaries,
    kRedisPartsMovedTotal,
    kSessions,
    kSessionLeases,
    kWaiters,
    kWaitSeconds,
    kSlowWaitTotal,
    kLinePosition,
    kHoldSeconds,
    kSessionHeartbeatSeconds,
    kSessionLeaseLostTotal,
    kQuotaRefusedTotal,
    kWithdrawalTotal,
    kLeaseExpiredTotal,
    kInvariantViolatedTotal,
    kEventLoopStuck,
    kEventLoopLagSeconds,
    kConnectionsClosedTotal,
    kFileReloadTotal,
    kFilesRefused,
    kSettingsNeedRestart,
    kCertificateExpiry,
    kAuditDroppedTotal,
    kAuditWriteFailedTotal,
    kTracesExportedTotal,
    kTracesDroppedTotal,
    kProcessCpuSecondsTotal,
    kProcessResidentMemoryBytes,
    kProcessOpenFds,
    kProcessMaxFds,
    kProcessStartTimeSeconds,
};

}  // namespace catalog
}  // namespace lockkeeper::telemetry
