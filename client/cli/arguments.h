// SPDX-License-Identifier: Apache-2.0
//
// The grammar of the command line: turns its words into values. The server checks ranges.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cli/report.h"
#include "lockkeeper/options.h"

namespace lockkeeper::cli {

using std::chrono::milliseconds;

// The options of a lease.
struct LeaseOptions {
  std::string owner;  // Empty: the default.
  std::map<std::string, std::string> labels;
  milliseconds lock_delay{0};
  milliseconds max_hold{0};
  milliseconds hold_at_least{0};
};

struct AcquireCommand : LeaseOptions {
  std::string name;
  std::optional<milliseconds> ttl;
  milliseconds wait{0};
  std::string lease_id;
};

struct ExtendCommand {
  std::string name;
  std::string lease_id;
  std::optional<milliseconds> ttl;
  int64_t token = 0;
  std::string reassertion;
};

struct ReleaseCommand {
  std::string name;
  std::string lease_id;
};

struct FenceCommand {
  std::string name;
  int64_t token = 0;
  bool require_live_lease = false;
};

struct GetCommand {
  std::string name;
};

struct HistoryCommand {
  std::string name;
};

struct IsHeldCommand {
  std::string name;
};

struct ListCommand {
  std::string prefix;
  std::optional<int64_t> limit;
};

struct WhoCommand {
  std::string principal;  // Empty: all.
  std::string prefix;
};

enum class ContendedBy { kWaits, kTime };

struct ContendedCommand {
  std::string prefix;
  ContendedBy by = ContendedBy::kWaits;
  int64_t limit = 20;
};

enum class SortBy { kName, kHolder, kAge, kLeft, kLine, kRate };

struct TopCommand {
  std::string prefix;
  SortBy sort = SortBy::kName;
  std::string filter;  // Part of a lock's name or holder.
  bool once = false;
};

struct WatchCommand {
  std::string name;  // Empty: all that begin with `prefix`.
  std::string prefix;
  std::vector<std::string> kinds;  // Of the events to print. Empty: all.
  std::optional<int64_t> count;    // Ends after so many. Nothing: it goes on.
};

struct ForceReleaseCommand {
  std::string name;
  std::string reason;
  bool now = false;
};

struct EndQuarantineCommand {
  int64_t epoch = 0;
  std::string reason;
  bool accepts_two_holders = false;
};

struct DrainCommand {
  std::string reason;
  bool wait = false;  // Until the daemon is gone.
};

struct HealthCommand {
  std::string http;  // Ask there over HTTP. Empty: ask by gRPC.
};

struct InfoCommand {};

struct DoctorCommand {};

struct BackupCheckCommand {
  std::string save;   // File that gets what the store has now. Empty: none.
  std::string since;  // File with what it had. Empty: none.
};

struct WhoamiCommand {};

struct CanCommand {
  std::string verb;
  std::string name;
};

// Works without the service.
struct TokenCommand {
  enum class Action { kCreate, kHash } action = Action::kCreate;
  std::string name;
  std::string expires;
  std::string out;  // Of a new token: the file for it. Empty: it is printed.
};

struct RunCommand : LeaseOptions {
  std::string name;
  milliseconds ttl{30'000};
  milliseconds wait{0};
  std::optional<milliseconds> grace;
  int conflict_exit_code = static_cast<int>(ExitCode::kNotAcquired);
  std::vector<std::string> command;
};

using Command =
    std::variant<AcquireCommand, ExtendCommand, ReleaseCommand, FenceCommand, GetCommand,
                 HistoryCommand, IsHeldCommand, ListCommand, WhoCommand, ContendedCommand,
                 TopCommand, WatchCommand, ForceReleaseCommand, EndQuarantineCommand, DrainCommand,
                 HealthCommand, InfoCommand, DoctorCommand, BackupCheckCommand, WhoamiCommand,
                 CanCommand, TokenCommand, RunCommand>;

// How to reach the service, and whether to print progress.
struct Service {
  std::vector<std::string> servers;
  TlsOptions tls;
  std::string token_file;       // Empty: no token is shown.
  milliseconds timeout{5'000};  // For a call, retries included; a wait comes on top.
  bool quiet = false;
};

struct Arguments {
  Service service;
  OutputFormat output = OutputFormat::kText;
  Command command;
};

// What --help, --version, `completion` and `man` print, without the last end of line.
struct HelpText {
  std::string text;
};

// What is wrong with the command line, for people.
struct UsageError {
  std::string message;
};

using ParsedArguments = std::variant<Arguments, HelpText, UsageError>;

// Reads the command line without the program's name, and the environment variables
// LOCKKEEPER_SERVER and LOCKKEEPER_TLS_.... `version` is what --version prints.
ParsedArguments ParseArguments(const std::vector<std::string>& words, const std::string& version);

// The output format of a command line that may be wrong, so that its error has this format too.
OutputFormat OutputAskedFor(const std::vector<std::string>& words);

}  // namespace lockkeeper::cli
