// SPDX-License-Identifier: Apache-2.0
#include "redis/client/server_facts.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>

#include "redis/node/error_reply.h"
#include "text/escape.h"

namespace lockkeeper::redis {
namespace {

using Kind = StoreProblem::Kind;

constexpr int kMajorVersionMin = 7;
// Of min-replicas-max-lag, in seconds: a failover stops grants for as long.
constexpr int64_t kMaxLagMax = 30;
// Of cluster-node-timeout: likewise.
constexpr core::Millis kNodeTimeoutMax{58'000};
// Until a server of a Cluster has noticed that the time is over, and that a majority is away.
constexpr core::Millis kClusterNoticeTime{2'000};
constexpr int64_t kSecond = core::Micros(std::chrono::seconds(1)).count();

// Errors that pass without anybody changing a setting.
constexpr std::array<std::string_view, 9> kPassing = {"BUSY",       "CLUSTERDOWN", "LOADING",
                                                      "MASTERDOWN", "MISCONF",     "OOM",
                                                      "NOREPLICAS", "READONLY",    "TRYAGAIN"};
constexpr std::string_view kTooManyClients = "ERR max number of clients reached";

std::string_view Field(const InfoFields& fields, std::string_view name) {
  const auto found = fields.find(name);
  return found == fields.end() ? std::string_view() : found->second;
}

std::optional<int64_t> ReadNumber(std::string_view text) {
  int64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || read.ec != std::errc() || read.ptr != text.data() + text.size()) {
    return std::nullopt;
  }
  return number;
}

std::optional<int64_t> Number(const InfoFields& fields, std::string_view name) {
  return ReadNumber(Field(fields, name));
}

// Value of a setting in the reply of CONFIG GET, an array of names and values.
std::string_view Setting(const std::optional<Reply>& config, std::string_view name) {
  return config ? ValueIn(*config, name) : "";
}

std::optional<StoreProblem> Refused(std::string text) {
  return StoreProblem{Kind::kRefused, std::move(text)};
}

// As a number of at least 1; nothing otherwise.
std::optional<int64_t> PositiveSetting(const std::optional<Reply>& config, std::string_view name) {
  const std::optional<int64_t> number = ReadNumber(Setting(config, name));
  return number && *number > 0 ? number : std::nullopt;
}

std::optional<StoreProblem> JudgeVersion(const ServerFacts& facts, Expected) {
  const std::string_view version = Field(facts.info, "redis_version");
  int major = 0;
  std::from_chars(version.data(), version.data() + version.size(), major);
  if (major >= kMajorVersionMin) return std::nullopt;
  if (version.empty()) return Refused("INFO does not tell redis_version: is this Redis?");
  return Refused("runs " + facts.Version() +
                 ", but Redis 7.0 or later, or Valkey, is needed: upgrade it");
}

std::optional<StoreProblem> JudgeRole(const ServerFacts& facts, Expected expected) {
  const std::string_view mode = Field(facts.info, "redis_mode");
  const bool in_cluster =
      expected == Expected::kClusterPrimary || expected == Expected::kClusterServer;
  if (mode == "sentinel") {
    return Refused(
        "is a Sentinel: name it by redis+sentinel://host:port/service, or the Redis server that "
        "it watches");
  }
  if (mode == "cluster" && !in_cluster) {
    return Refused("is a server of a Cluster: name it by redis+cluster://host:port");
  }
  if (mode != "cluster" && in_cluster) {
    return Refused("is no server of a Cluster: name it by redis://host:port");
  }
  if (expected == Expected::kClusterServer) return std::nullopt;
  const bool told = facts.role.type == Reply::Type::kArray && !facts.role.items.empty();
  const std::string_view role =
      told ? std::string_view(facts.role.items[0].text) : Field(facts.info, "role");
  if (role == "master") return std::nullopt;
  if (role != "slave") return Refused("does not tell its role: allow the user ROLE or INFO");
  std::string primary(Field(facts.info, "master_host"));
  if (!primary.empty()) {
    primary = " of " + primary + ":" + std::string(Field(facts.info, "master_port"));
  }
  if (expected == Expected::kPrimary) {
    return StoreProblem{Kind::kUnreachable, "is a replica" + primary +
                                                ", though the Sentinels name it as the primary: "
                                                "they are asked again"};
  }
  if (expected == Expected::kClusterPrimary) {
    return StoreProblem{Kind::kUnreachable, "is a replica" + primary +
                                                ", though the Cluster names it as a primary: it is "
                                                "asked again"};
  }
  return Refused("is a replica" + primary +
                 ": name the primary, or make this server one with `REPLICAOF NO ONE`");
}

std::optional<StoreProblem> JudgeLoading(const ServerFacts& facts, Expected) {
  if (Field(facts.info, "loading") != "1") return std::nullopt;
  std::string text = "is loading its data";
  const std::string_view share = Field(facts.info, "loading_loaded_perc");
  if (!share.empty()) text += ", " + std::string(share) + " % so far";
  return StoreProblem{Kind::kUnreachable, std::move(text)};
}

// A Sentinel need not allow INFO.
std::optional<StoreProblem> JudgeSentinel(const ServerFacts& facts) {
  const std::string_view mode = Field(facts.info, "redis_mode");
  if (mode.empty() || mode == "sentinel") return std::nullopt;
  return Refused("is a Redis server, not a Sentinel: name Sentinels, or use redis://host:port");
}

std::string RightsProblem(const ServerFacts& facts) {
  std::string rules;
  for (const std::string& rule : facts.missing_rights) rules += " " + rule;
  return "does not allow the daemon's user all that locks need: let `ACL SETUSER` add" + rules +
         " (docs/operating/redis.md)";
}

std::string EvictionProblem(const ServerFacts& facts, const Assumptions& assumed) {
  const std::string_view limit = Field(facts.info, "maxmemory");
  const std::string_view policy = Field(facts.info, "maxmemory_policy");
  if (assumed.no_eviction || limit == "0" || policy == "noeviction") return "";
  if (limit.empty() || policy.empty()) {
    return "does not tell maxmemory and maxmemory_policy: allow the user INFO";
  }
  return "may evict locks, its maxmemory-policy is " + std::string(policy) +
         ": set `maxmemory-policy noeviction` (or `maxmemory 0`), or name what is given up with "
         "`store.assume: [no_eviction]`";
}

// Redis refuses writes by the same comparison.
std::string RoomProblem(const ServerFacts& facts) {
  const int64_t limit = Number(facts.info, "maxmemory").value_or(0);
  const int64_t used = Number(facts.info, "used_memory").value_or(0);
  const int64_t not_counted = Number(facts.info, "mem_not_counted_for_evict").value_or(0);
  if (limit == 0 || used - not_counted <= limit ||
      Field(facts.info, "maxmemory_policy") != "noeviction") {
    return "";
  }
  return "is full: it uses more than its maxmemory of " + std::to_string(limit) +
         " bytes: raise `maxmemory`, or find out what else fills it";
}

}  // namespace

void AddInfo(std::string_view text, InfoFields& fields) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos || line.starts_with('#')) continue;
    fields[std::string(line.substr(0, colon))] = text::InOneLine(line.substr(colon + 1));
  }
}

std::string ServerFacts::Version() const {
  const std::string_view valkey = Field(info, "valkey_version");
  if (!valkey.empty()) return "Valkey " + std::string(valkey);
  return "Redis " + std::string(Field(info, "redis_version"));
}

core::Assurance ServerFacts::Assurance() const {
  const bool on_disk = Field(info, "aof_enabled") == "1" &&
                       Setting(config, "appendfsync") == "always" &&
                       Setting(config, "no-appendfsync-on-rewrite") == "no";
  return on_disk ? core::Assurance::kDisk : core::Assurance::kMemory;
}

bool ServerFacts::IsRewriting() const {
  return Field(info, "aof_rewrite_in_progress") == "1" ||
         Field(info, "aof_rewrite_scheduled") == "1";
}

std::optional<core::NodeTime> ServerFacts::Clock() const {
  const std::optional<int64_t> micros = Number(info, "server_time_usec");
  if (!micros) return std::nullopt;
  return core::NodeTime{*micros};
}

int64_t ServerFacts::ConnectedReplicas() const {
  return Number(info, "connected_slaves").value_or(0);
}

NodeLife ServerFacts::Life() const {
  constexpr size_t kRunIdDigits = 40;
  NodeLife life;
  life.run_id = Field(info, "run_id");
  // Something in its place tells one start from another too, if less well.
  life.run_id.resize(kRunIdDigits, '0');
  const std::string_view second = Field(info, "master_replid2");
  life.promoted = second.find_first_not_of('0') != std::string_view::npos;
  life.durable = Assurance() == core::Assurance::kDisk && !life.promoted;
  life.evicted_keys = Number(info, "evicted_keys").value_or(0);
  const std::optional<core::NodeTime> now = Clock();
  const std::optional<int64_t> uptime = Number(info, "uptime_in_seconds");
  // The server knows the second in which it started.
  if (now && uptime) life.started.micros = (now->micros / kSecond - *uptime + 1) * kSecond;
  life.primary_since = life.started;
  if (life.promoted) life.primary_since = now.value_or(core::NodeTime());
  return life;
}

std::optional<core::Millis> ServerFacts::WritesAloneFor() const {
  const auto replicas = PositiveSetting(config, "min-replicas-to-write");
  const auto lag = PositiveSetting(config, "min-replicas-max-lag");
  if (!replicas || !lag || *lag > kMaxLagMax) return std::nullopt;
  return std::chrono::seconds(*lag + 2);
}

std::optional<core::Millis> ServerFacts::ClusterNodeTimeout() const {
  const auto timeout = PositiveSetting(config, "cluster-node-timeout");
  return timeout ? std::optional(core::Millis(*timeout)) : std::nullopt;
}

core::Millis IsolationInCluster(const ServerFacts& facts) {
  const auto timeout = facts.ClusterNodeTimeout();
  return timeout ? *timeout + kClusterNoticeTime : kNodeTimeoutMax + kClusterNoticeTime;
}

Command ConfigQuestion() {
  Command question(2 + kConfigSettings.size());
  question.Word("CONFIG").Word("GET");
  for (const std::string_view setting : kConfigSettings) question.Word(setting);
  return question;
}

std::optional<StoreProblem> Judge(const ServerFacts& facts, Expected expected) {
  if (expected == Expected::kSentinel) return JudgeSentinel(facts);
  for (const auto judge : {JudgeLoading, JudgeVersion, JudgeRole}) {
    if (std::optional<StoreProblem> problem = judge(facts, expected)) return problem;
  }
  return std::nullopt;
}

std::string SettingProblem(const ServerFacts& facts, const Assumptions& assumed,
                           Expected expected) {
  if (!facts.missing_rights.empty()) return RightsProblem(facts);
  if (std::string room = RoomProblem(facts); !room.empty()) return room;
  std::string eviction = EvictionProblem(facts, assumed);
  if (eviction.empty() && expected == Expected::kClusterPrimary &&
      facts.ClusterNodeTimeout().value_or(core::Millis(0)) > kNodeTimeoutMax) {
    return "may go on with writes for more than a minute after another one has taken its place: "
           "set `cluster-node-timeout` to 58000 at most, on all servers";
  }
  if (!eviction.empty() || expected != Expected::kPrimary || assumed.no_split_brain) {
    return eviction;
  }
  if (facts.WritesAloneFor()) return "";
  if (!facts.config) {
    return "does not tell min-replicas-to-write: allow the user CONFIG GET, or name what is given "
           "up with `store.assume: [no_split_brain]`";
  }
  return "may go on with writes after the Sentinels have replaced it: set "
         "`min-replicas-to-write 1` and `min-replicas-max-lag 3` (at most 30) on all servers, or "
         "name what is given up with `store.assume: [no_split_brain]`";
}

std::string AssuranceProblem(const ServerFacts& facts, core::Assurance wanted) {
  if (wanted != core::Assurance::kDisk || facts.Assurance() >= wanted) return "";
  const auto answer = [](std::string_view problem, std::string_view setting) {
    return std::string(problem) + ": set `" + std::string(setting) +
           "`, or another store.assurance than fsynced";
  };
  if (Field(facts.info, "aof_enabled") != "1") {
    return answer("keeps no append-only file", "appendonly yes");
  }
  if (!facts.config) return answer("does not tell appendfsync", "ACL SETUSER ... +config|get");
  if (Setting(facts.config, "appendfsync") != "always") {
    return answer("replies before a write is on its disk", "appendfsync always");
  }
  return answer("writes nothing to its disk while it rewrites the append-only file",
                "no-appendfsync-on-rewrite no");
}

StoreProblem ProblemOfErrorReply(std::string_view command, std::string_view error,
                                 Expected expected) {
  const std::string_view word = ErrorWord(error);
  const std::string answer = "answered " + std::string(command) + " with: " + std::string(error);
  const bool passes = std::find(kPassing.begin(), kPassing.end(), word) != kPassing.end() ||
                      error.starts_with(kTooManyClients);
  if (passes) return {Kind::kUnreachable, answer};
  if (word == "NOAUTH" && expected == Expected::kSentinel) {
    return {Kind::kRefused,
            "demands a password, which is not that of Redis: put it into a file "
            "(store.sentinel_password_file)"};
  }
  if (word == "NOAUTH") {
    return {Kind::kRefused,
            "demands a password: put user and password into the URL, or the password into a file "
            "(store.redis_password_file)"};
  }
  return {Kind::kRefused, answer};
}

}  // namespace lockkeeper::redis
