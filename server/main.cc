// SPDX-License-Identifier: Apache-2.0
//
// lockkeeperd: flags, signals and exit codes. Everything else is in daemon/daemon.cc.

#include <malloc.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "config/config_loader.h"
#include "config/settings.h"
#include "daemon/access_rules.h"
#include "daemon/daemon.h"
#include "daemon/live_settings.h"
#include "daemon/server_identity.h"
#include "daemon/signals.h"
#include "daemon/store_access.h"
#include "daemon/traces.h"
#include "lockkeeper/build_info.h"
#include "man_page.h"
#include "os/descriptor.h"
#include "os/service_manager.h"
#include "telemetry/log.h"
#include "telemetry/log_fields.h"
#include "text/near_miss.h"

namespace lockkeeper {
namespace {

namespace field = telemetry::field;

// docs/operating/troubleshooting.md says what to do for each.
enum ExitCode : int {
  kDrained = 0,
  kOther = 1,
  kUsage = 64,
  kUnavailable = 69,
  kBadConfiguration = 78,
};

enum class Action { kServe, kCheckConfig, kPrintConfig };

struct CommandLine {
  Action action = Action::kServe;
  config::ConfigSources sources;
};

std::string VersionText() {
  const BuildInfo& build = GetBuildInfo();
  std::string text = "lockkeeperd " + std::string(build.version);
  if (!build.git_commit.empty()) text += "\ncommit " + std::string(build.git_commit);
  text += "\ncompiler " + std::string(build.compiler);
  if (!build.sanitizer.empty()) text += "\nsanitizer " + std::string(build.sanitizer);
  return text;
}

// A flag for each setting that has one. What was given is in `values`, in the order of `flags`.
void AddSettings(CLI::App& app, std::vector<config::FlagValue>& flags) {
  for (const config::Setting& setting : config::Settings()) {
    if (!setting.flag.empty()) flags.push_back({std::string(setting.flag), {}});
  }
  for (config::FlagValue& flag : flags) {
    const config::Setting& setting = *config::FindByFlag(flag.flag);
    const std::string meaning(setting.meaning);
    const bool is_switch = std::holds_alternative<config::FieldOf<bool>>(setting.field);
    if (is_switch) {
      app.add_flag_callback(flag.flag, [&flag] { flag.values = {"true"}; }, meaning);
      continue;
    }
    CLI::Option* option = app.add_option(flag.flag, flag.values, meaning)
                              ->type_name(setting.is_secret()                    ? "URL"
                                          : setting.key.ends_with("_dir")        ? "DIR"
                                          : setting.key.ends_with("_file")       ? "FILE"
                                          : setting.key == "audit.to"            ? "WHERE"
                                          : setting.key == "traces.endpoint"     ? "URL"
                                          : setting.key == "traces.sample_ratio" ? "RATIO"
                                                                                 : "ADDRESS");
    const config::Config defaults;
    const std::string usual = absl::StrJoin(config::Show(setting, defaults).texts, ",");
    if (!usual.empty()) option->default_str(usual);
    // Each --listen takes one address, so that a following word is not taken for another one.
    option->expected(1)->allow_extra_args(false)->required(false);
    option->multi_option_policy(setting.is_list() ? CLI::MultiOptionPolicy::TakeAll
                                                  : CLI::MultiOptionPolicy::Throw);
  }
}

// One line that says what is wrong with a command line that CLI11 has rejected.
std::string ProblemOf(const CLI::App& app, const CLI::ParseError& error) {
  std::vector<std::string> known;
  for (const CLI::Option* option : app.get_options()) known.push_back(option->get_name());
  for (const std::string& word : app.remaining()) {
    if (!word.starts_with("--")) continue;
    const std::string given = word.substr(0, word.find('='));
    std::string problem = "unknown option `" + given + "`";
    if (const auto nearest = text::NearMiss(given, known)) {
      return problem + "; did you mean `" + *nearest + "`?";
    }
    // Most settings have no option: --log-level is log.level.
    std::string key = given.substr(2);
    if (const size_t dash = key.find('-'); dash != std::string::npos) key[dash] = '.';
    std::replace(key.begin(), key.end(), '-', '_');
    const config::Setting* const setting = config::FindByKey(key);
    if (setting == nullptr) return problem;
    return problem + "; set " + key + " in the file of --config, or " +
           config::EnvironmentName(*setting) + " in the environment";
  }
  const std::string said = error.what();
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    const std::string name = said.substr(0, said.find(':'));
    const CLI::Option* const option = app.get_option_no_throw(name);
    const bool is_given_twice = option != nullptr && option->count() > 1 &&
                                option->get_multi_option_policy() == CLI::MultiOptionPolicy::Throw;
    return "`" + name + (is_given_twice ? "` is given twice" : "` needs a value");
  }
  const std::vector<std::string> words = app.remaining();
  return words.empty() ? said : "unexpected argument `" + words.front() + "`";
}

// Nothing if there is nothing left to do; then `exit_code` is set.
std::optional<CommandLine> ParseCommandLine(int argc, char** argv, int& exit_code) {
  CLI::App app(
      "lockkeeperd, the lock daemon. Locks are kept in a Redis that all daemons share "
      "(--redis), or in a private one that only this daemon knows (--embedded).",
      "lockkeeperd");
  CommandLine line;
  std::vector<config::FlagValue> flags;
  AddSettings(app, flags);
  app.add_option("--config", line.sources.file, "Configuration file (YAML)")
      ->check([](const std::string& name) {
        return std::string(name.empty() ? "the name of the file is empty" : "");
      })
      ->type_name("FILE");
  bool check = false;
  bool print = false;
  bool man_page = false;
  app.add_flag("--check-config", check, "Check the configuration and exit");
  app.add_flag("--print-config", print,
               "Print the configuration with the origin of each value, and exit");
  app.add_flag("--man-page", man_page, "Print the manual page for `man -l`, and exit");
  app.set_version_flag("--version", VersionText());
  app.footer(
      "Every setting, even one without an option, can be set in the file of --config, or in a "
      "variable: "
      "LOCKKEEPERD_STORE_REDIS\nis store.redis. --print-config shows them all.\n"
      "Exit codes: 0 drained, 64 usage, 69 cannot listen or store refused, 78 bad "
      "configuration, 1 other.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help_or_version) {
    exit_code = app.exit(help_or_version);
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    std::cerr << "lockkeeperd: " << ProblemOf(app, error) << " (see `lockkeeperd --help`)\n";
    exit_code = kUsage;
    return std::nullopt;
  }
  if (man_page) {
    std::cout << ManPage(app, "lockkeeperd " + std::string(GetBuildInfo().version));
    exit_code = kDrained;
    return std::nullopt;
  }
  if (check) line.action = Action::kCheckConfig;
  if (print) line.action = Action::kPrintConfig;
  for (config::FlagValue& flag : flags) {
    if (!flag.values.empty()) line.sources.flags.push_back(std::move(flag));
  }
  line.sources.environment = config::EnvironmentOf(environ);
  line.sources.user = geteuid() == 0 ? config::User::kRoot : config::User::kOther;
  return line;
}

int RefuseConfiguration(const absl::Status& status) {
  std::cerr << "lockkeeperd: bad configuration:\n" << status.message() << "\n";
  return kBadConfiguration;
}

telemetry::LogOptions LogOptionsOf(const config::LogConfig& config) {
  return {.format = config.format == config::LogFormat::kJson ? telemetry::LogFormat::kJson
                                                              : telemetry::LogFormat::kText,
          .level = daemon::LogLevelOf(config.level)};
}

int ExitCodeOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
      return kBadConfiguration;
    case absl::StatusCode::kUnavailable:
      return kUnavailable;
    default:
      return kOther;
  }
}

// Writes at once, because the process ends before the log's own thread could write.
class LastWords final : public telemetry::LogOutput {
 public:
  void Write(std::string_view line) override { std::cerr << std::string(line) + "\n"; }
};

[[noreturn]] void StopAtOnce(int signal, const telemetry::LogOptions& options) {
  LastWords output;
  telemetry::Log log(options, output);
  telemetry::Logger(log, "daemon")
      .Warn("daemon.stopped_at_once", "A second signal ends the daemon during its drain",
            {field::Signal(daemon::NameOfSignal(signal))});
  std::_Exit(kOther);
}

// What the service manager that started the daemon is told, if there is one.
struct Supervisor {
  void Ready(Daemon& daemon) const {
    LogFailure(manager.TellReady("listens: " + daemon.Addresses()));
  }

  void Reload(Daemon& daemon) const {
    LogFailure(manager.TellReloading());
    daemon.Hangup();
    Ready(daemon);
  }

  void Stopping(std::chrono::milliseconds drain_timeout) const {
    LogFailure(manager.TellStopping(drain_timeout + kStopMargin));
  }

  // On the loop's thread, so that the manager hears of a loop that is stuck. One of three may be
  // lost or late.
  void StartKeepingAlive(Daemon& daemon) const {
    if (!manager.watchdog()) return;
    const std::chrono::microseconds third = *manager.watchdog() / 3;
    daemon.StartBeat(std::max<std::chrono::microseconds>(third, kBeatMin),
                     [&to = manager] { to.KeepAlive(); });
  }

  void LogFailure(const text::Problem& problem) const {
    if (!problem) return;
    logger.Warn("daemon.notify_failed",
                "The service manager could not be told what the daemon does; it may end it",
                {field::Problem(*problem)});
  }

  static constexpr std::chrono::milliseconds kBeatMin{1};
  // For what is taken down after the drain; the embedded store's server alone may take 10 s.
  static constexpr std::chrono::seconds kStopMargin{15};

  const os::ServiceManager& manager;  // Outlives the daemon.
  const telemetry::Logger logger;
};

// The next signal that asks the daemon to stop; nothing once `event` is readable.
std::optional<int> WaitForStop(daemon::Signals& signals, int event,
                               const std::function<void()>& on_hangup) {
  for (;;) {
    const std::optional<int> signal = signals.Wait(event);
    if (signal != SIGHUP) return signal;
    on_hangup();
  }
}

enum class DrainCause { kSignal, kAdministrator };

// Drains on another thread, so that this one can wait for a second signal. If the drain was not
// caused by a signal, the first one only asks for what is under way.
int DrainUnlessSignalled(Daemon& daemon, DrainCause cause, daemon::Signals& signals,
                         const telemetry::Log& log, const telemetry::Logger& logger) {
  const int drained = eventfd(0, EFD_CLOEXEC);
  if (drained < 0) std::abort();
  std::thread drainer([&] {
    if (daemon.Drain() == Daemon::DrainEnd::kDrained) {
      logger.Info("daemon.drained", "All work in flight has ended");
    }
    eventfd_write(drained, 1);
  });
  const auto wait = [&] { return WaitForStop(signals, drained, [&] { daemon.Hangup(); }); };
  auto signal = wait();
  if (signal && cause == DrainCause::kAdministrator) signal = wait();
  if (signal) StopAtOnce(*signal, log.options());
  drainer.join();
  close(drained);
  return kDrained;
}

// Raises the limit of descriptors as far as the process may, since each connection needs one.
// Returns the limit.
size_t RaiseDescriptorLimit() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const rlim_t before = std::exchange(limit.rlim_cur, limit.rlim_max);
  return setrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : before;
}

int Serve(const config::ConfigSources& sources, const config::LoadedConfig& loaded) {
  const config::Config& config = loaded.config;
  // Both before any other thread.
  const os::ServiceManager manager(os::TakeServiceEnvironment());
  daemon::Signals signals(config.audit.to.empty() && sources.file.empty() && !manager.wants_news()
                              ? daemon::Hangup::kEndsProcess
                              : daemon::Hangup::kIsReturned);
  const auto log_output = telemetry::MakeStderrOutput();
  telemetry::Log log(LogOptionsOf(config.log), *log_output);
  const telemetry::Logger logger(log, "daemon");
  logger.Info("daemon.starting", "lockkeeperd starts",
              {field::Build(GetBuildInfo().version), field::Commit(GetBuildInfo().git_commit),
               field::Pid(getpid()), field::Descriptors(RaiseDescriptorLimit())});

  const os::Descriptor asked_to_stop(eventfd(0, EFD_CLOEXEC));
  if (!asked_to_stop.valid()) std::abort();
  auto daemon = Daemon::Start(sources, loaded, log, [&] { eventfd_write(asked_to_stop.get(), 1); });
  if (!daemon.ok()) {
    const std::string problem(daemon.status().message());
    logger.Error("daemon.start_failed", "lockkeeperd cannot start", {field::Problem(problem)});
    return ExitCodeOf(daemon.status());
  }
  const std::string addresses = (*daemon)->Addresses();
  logger.Info("daemon.ready", "lockkeeperd listens", {field::Address(addresses)});
  std::cout << "lockkeeperd ready " << addresses << '\n' << std::flush;
  const Supervisor supervisor{manager, logger};
  supervisor.Ready(**daemon);
  supervisor.StartKeepingAlive(**daemon);

  const auto signal =
      WaitForStop(signals, asked_to_stop.get(), [&] { supervisor.Reload(**daemon); });
  supervisor.Stopping(config.drain.timeout);
  logger.Info("daemon.draining", "The daemon was asked to stop; work in flight ends first",
              {field::Signal(signal ? daemon::NameOfSignal(*signal) : "none"),
               field::Limit(config.drain.timeout)});
  return DrainUnlessSignalled(**daemon, signal ? DrainCause::kSignal : DrainCause::kAdministrator,
                              signals, log, logger);
}

// The number of heaps, which all threads share. By default each thread has its own heap, and the
// memory that a flood of calls took in one heap is no use for the next flood, which arrives on
// another thread.
constexpr int kHeaps = 2;

// Debian's Abseil looks for deadlocks whenever a mutex is locked, each of gRPC's too, under one
// lock of the whole process. Builds for tests keep that, the one that is shipped does not.
void StopDeadlockDetection() {
#ifdef NDEBUG
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
#endif
}

int Main(int argc, char** argv) {
  mallopt(M_ARENA_MAX, kHeaps);
  StopDeadlockDetection();
  int exit_code = kOther;
  const std::optional<CommandLine> line = ParseCommandLine(argc, argv, exit_code);
  if (!line) return exit_code;
  const auto loaded = config::ReadConfig(line->sources);
  if (!loaded.ok()) return RefuseConfiguration(loaded.status());
  if (line->action == Action::kPrintConfig) std::cout << config::PrintConfig(*loaded);
  if (const auto status = config::CheckConfig(*loaded); !status.ok()) {
    return RefuseConfiguration(status);
  }
  if (!loaded->config.store.embedded) {
    const auto access = daemon::LoadStoreAccess(loaded->config.store);
    if (!access.ok()) return RefuseConfiguration(access.status());
  }
  if (const auto identity = daemon::LoadServerIdentity(loaded->config.server); !identity.ok()) {
    return RefuseConfiguration(identity.status());
  }
  if (const auto status = daemon::CheckTraces(loaded->config.traces); !status.ok()) {
    return RefuseConfiguration(status);
  }
  const auto access = daemon::AccessRules::Load(loaded->config);
  if (!access.ok()) return RefuseConfiguration(access.status());
  if (line->action == Action::kCheckConfig) {
    for (const std::string& warning : access->warnings())
      std::cout << "Warning: " << warning << "\n";
  }
  if (line->action == Action::kCheckConfig) std::cout << "The configuration is good.\n";
  return line->action == Action::kServe ? Serve(line->sources, *loaded) : kDrained;
}

}  // namespace
}  // namespace lockkeeper

// An exception that nobody catches is a defect, and ends the process with its text.
int main(int argc, char** argv) {  // NOLINT(bugprone-exception-escape)
  return lockkeeper::Main(argc, argv);
}
