// SPDX-License-Identifier: Apache-2.0
//
// histories --checker PROGRAM [--minutes N | --runs N] [--run-seconds N] [--seed S]
// [--output FOLDER] [--without FAULT...] [--keep] [--daemon PROGRAM] [--former-daemon PROGRAM]
// [--assurance A] [--failovers N [--cluster] [--ttl-ceiling N] | --reshard N | --roll]: runs of a
// Redis, daemons and clients as processes, with faults; or with so many failovers of a primary with
// replicas and Sentinels, or of a Cluster; or of a Cluster whose slots move; or with daemons that
// come, are replaced by those of another build, and go. Each leaves a history that the checker
// accepts or refuses. Exit code 0 only if all were accepted, failovers and moves went as they are
// promised to, and nobody noticed the rolls.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "histories/failovers.h"
#include "histories/faults.h"
#include "histories/resharding.h"
#include "histories/rolls.h"
#include "histories/scene.h"

namespace {

using std::chrono::seconds;
using Clock = std::chrono::steady_clock;
using lockkeeper::histories::DaemonBuild;
using lockkeeper::histories::Failover;
using lockkeeper::histories::FailoverReport;
using lockkeeper::histories::FaultOptions;
using lockkeeper::histories::Faults;
using lockkeeper::histories::Journal;
using lockkeeper::histories::LoadReport;
using lockkeeper::histories::MakeFailovers;
using lockkeeper::histories::ReasonsIn;
using lockkeeper::histories::Resharding;
using lockkeeper::histories::ReshardingReport;
using lockkeeper::histories::RollReport;
using lockkeeper::histories::Rolls;
using lockkeeper::histories::Scene;
using lockkeeper::histories::SceneOptions;
using lockkeeper::histories::StoreKind;

constexpr seconds kQuietBegin{1};
constexpr seconds kQuietEnd{4};  // Longer than the longest quarantine.
constexpr std::chrono::minutes kCheckLimit{10};
constexpr int kRolledDaemons = 4;
constexpr seconds kNoFailover{30};  // A busy machine must not look like a primary that fails.
// Of a former build that is the same program: settings that change what daemons write, and when it
// is forgotten.
const std::vector<std::pair<std::string, std::string>> kOtherSettings = {
    {"LOCKKEEPERD_STORE_RECORD_RETENTION", "12h"},
    {"LOCKKEEPERD_STORE_ASSURANCE", "fsynced"},
    {"LOCKKEEPERD_LEASE_MAX_TTL", "15s"}};
// Of a run in which nothing is lost: leases may be longer than elsewhere.
const std::pair<std::string, std::string> kMaxTtlOfRolls = {"LOCKKEEPERD_LEASE_MAX_TTL", "20s"};

struct Options {
  std::string checker;
  std::string daemon = LOCKKEEPERD_PROGRAM;
  std::string output = "histories";
  double minutes = 3;
  uint64_t runs = 0;  // 0: as many as the minutes allow.
  int run_seconds = 180;
  uint64_t seed = std::random_device{}();
  std::set<std::string> without;
  int failovers = 0;     // 0: faults of one Redis.
  bool cluster = false;  // They are those of a Cluster.
  int ttl_ceiling = 5;   // Of them, in seconds.
  int reshard = 0;       // How often all slots of a Cluster move there and back.
  bool roll = false;
  std::string former_daemon;  // Empty: the same program with kOtherSettings.
  std::string assurance = "primary";
  bool until_restored = false;
  bool keep = false;
};

// Whether the checker accepts what the run has left. Prints what it says.
bool Accepts(const Options& options, const std::string& folder,
             const std::vector<std::string>& histories) {
  std::vector<std::string> command = {options.checker, "--html", folder + "/contradiction.html"};
  command.insert(command.end(), histories.begin(), histories.end());
  const std::string said = folder + "/checker.txt";
  lockkeeper::support::ChildProcess checker({.command = command, .output_file = said});
  const auto end = checker.WaitForEnd(kCheckLimit);
  std::cout << std::ifstream(said).rdbuf() << std::flush;
  return end && end->exit_code == 0;
}

// The median and the highest of these times.
std::string InShort(std::vector<std::chrono::milliseconds> times) {
  if (times.empty()) return "no time";
  std::sort(times.begin(), times.end());
  return std::to_string(times[times.size() / 2].count()) + " ms in the median and " +
         std::to_string(times.back().count()) + " ms at most";
}

void TellOf(const Failover& failover) {
  std::cout << failover.fault << ": writes after " << failover.until_written.count()
            << " ms, confirmed after " << failover.until_confirmed.count()
            << " ms, new locks after " << failover.until_granted.count() << " ms of at most "
            << failover.bound.count() << " ms; the lease that is extended "
            << (failover.kept ? "went on" : "ended") << ", answered after "
            << failover.until_held.count() << " ms; " << failover.lost << " of " << failover.told
            << " leases lost" << (failover.again ? "; the store failed over once more" : "") << "\n"
            << std::flush;
}

// Tells what a run with failovers has measured, and what must not be. Whether there is nothing.
bool Tell(const FailoverReport& report) {
  std::vector<std::chrono::milliseconds> written, granted;
  int ended = 0;
  int again = 0;
  size_t told = 0, lost = 0;
  for (const Failover& failover : report.failovers) {
    again += failover.again ? 1 : 0;
    if (!failover.again) written.push_back(failover.until_written);
    if (!failover.again) granted.push_back(failover.until_granted);
    ended += failover.kept ? 0 : 1;
    told += failover.told;
    lost += failover.lost;
  }
  std::cout << report.failovers.size() << " failovers: writes after " << InShort(written)
            << "; new locks after " << InShort(granted)
            << "; the lease that is extended all the time ended in " << ended << "; " << lost
            << " of " << told << " leases lost; the store failed over once more, by itself, in "
            << again << "\n";
  for (const std::string& problem : report.problems) std::cout << "PROBLEM: " << problem << "\n";
  return report.problems.empty();
}

std::string InShort(const LoadReport& load) {
  const auto in_ms = [](std::chrono::microseconds time) {
    std::ostringstream text;
    text << std::fixed << std::setprecision(1) << static_cast<double>(time.count()) / 1'000
         << " ms";
    return text.str();
  };
  return std::to_string(load.calls) + " calls, p50 " + in_ms(load.median) + ", p99 " +
         in_ms(load.p99) + ", longest " + in_ms(load.longest);
}

bool Tell(const ReshardingReport& report) {
  std::cout << "\n"
            << report.slots << " slots moved in " << report.elapsed.count() << " ms\n"
            << "before: " << InShort(report.before) << "\n"
            << "meanwhile: " << InShort(report.during) << "\n";
  for (const std::string& problem : report.problems) std::cout << "PROBLEM: " << problem << "\n";
  return report.problems.empty();
}

// Tells how a roll went, and what failed that nobody had to notice. Whether nobody did.
bool Tell(const RollReport& report, const std::vector<std::string>& histories) {
  std::vector<std::string> unexpected;
  const std::map<std::string, int> reasons = ReasonsIn(histories, unexpected);
  std::cout << report.started << " daemons started, " << report.drained
            << " drained, the slowest in " << report.longest_drain.count() << " ms\n"
            << report.users.locks << " locks of users; the longest call without a wait took "
            << report.users.slowest_call.count() << " ms; retried by clients:";
  for (const auto& [error, count] : report.users.hidden) {
    std::cout << " " << count << " x [" << error << "]";
  }
  std::cout << "\nretried by the holder:";
  for (const auto& [error, count] : report.holder_failures) {
    std::cout << " " << count << " x [" << error << "]";
  }
  std::cout << "\nreasons in the histories:";
  for (const auto& [reason, count] : reasons) std::cout << " " << reason << " " << count;
  std::cout << "\n";
  if (!report.refusal.empty()) {
    std::cout << "the former build refuses what it cannot read: " << report.refusal << "\n";
  }
  for (const std::string& problem : report.problems) std::cout << "PROBLEM: " << problem << "\n";
  for (const std::string& reason : unexpected) std::cout << "PROBLEM: " << reason << " answered\n";
  return report.problems.empty() && unexpected.empty();
}

SceneOptions SceneOf(const Options& options, const std::string& folder) {
  const std::string daemon = std::filesystem::absolute(options.daemon);
  SceneOptions scene{.store = StoreKind::kOneRedis,
                     .builds = {{.program = daemon}},
                     .client_program = HISTORY_CLIENT_PROGRAM,
                     .output = folder};
  if (options.roll) {
    const std::string& former = options.former_daemon;
    scene.daemons = kRolledDaemons;
    scene.builds.push_back(former.empty()
                               ? DaemonBuild{daemon, kOtherSettings}
                               : DaemonBuild{std::filesystem::absolute(former), {kMaxTtlOfRolls}});
  } else if (options.failovers > 0) {
    scene.store = options.cluster ? StoreKind::kCluster : StoreKind::kSentinels;
    scene.longest_ttl = seconds(options.ttl_ceiling);
    scene.until_restored = options.until_restored;
  } else if (options.reshard > 0) {
    scene.store = StoreKind::kCluster;
    // A primary that has given all its slots away would become a replica.
    scene.cluster.settings = {"cluster-allow-replica-migration no"};
    scene.cluster.node_timeout = kNoFailover;
    scene.longest_ttl = seconds(options.ttl_ceiling);
  }
  if (options.roll) scene.builds[0].settings.push_back(kMaxTtlOfRolls);
  if (options.until_restored) {
    scene.builds[0].settings.emplace_back("LOCKKEEPERD_STORE_QUARANTINE", "until_restored");
  }
  if (options.assurance != "primary") {
    scene.builds[0].settings.emplace_back("LOCKKEEPERD_STORE_ASSURANCE", options.assurance);
  }
  return scene;
}

// How many replicas confirm a lease before a client is told of it.
size_t ConfirmingReplicas(const std::string& assurance) {
  const std::string prefix = "replicas:";
  return assurance.starts_with(prefix) ? std::stoul(assurance.substr(prefix.size())) : 0;
}

// What happens to the scene, from its first daemon on. Whether it went as it has to.
bool LetHappen(const Options& options, bool forgetting, lockkeeper::support::Random& random,
               Scene& scene, Journal& journal, std::optional<RollReport>& rolled) {
  if (options.roll) {
    Rolls rolls(scene, journal, options.former_daemon.empty(), random.Bits());
    rolls.Begin();
    scene.StartClients();
    rolled = rolls.Run();
    return true;
  }
  scene.StartDaemons();
  scene.StartClients();
  const auto end = Clock::now() + seconds(options.run_seconds);
  std::this_thread::sleep_for(kQuietBegin);
  if (options.failovers > 0) {
    const size_t confirming = ConfirmingReplicas(options.assurance);
    std::cout << "\n" << std::flush;
    return Tell(
        MakeFailovers(scene, journal, confirming, random.Bits())->Run(options.failovers, TellOf));
  }
  if (options.reshard > 0) return Tell(Resharding(scene).Run(options.reshard));
  Faults faults(scene, journal, {forgetting, options.without}, random.Bits());
  faults.RunUntil(end - kQuietEnd);
  std::this_thread::sleep_until(end);
  return true;
}

bool Run(const Options& options, uint64_t seed) {
  lockkeeper::support::Random random(seed);
  const bool forgetting = seed % 2 == 0;  // So that two runs are one of each kind.
  bool kept = true;
  std::optional<RollReport> rolled;
  const std::string folder = options.output + "/" + std::to_string(seed);
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  std::cout << "seed " << seed
            << (options.roll            ? ", daemons come and go: "
                : options.failovers > 0 ? ", the store fails over: "
                : options.reshard > 0   ? ", all slots move: "
                : forgetting            ? ", the store forgets: "
                                        : ": ")
            << std::flush;

  std::vector<std::string> histories = {folder + "/faults.jsonl"};
  {
    Scene scene(SceneOf(options, folder), random.Bits());
    Journal journal(histories[0]);
    kept = LetHappen(options, forgetting, random, scene, journal, rolled);
    scene.StopClients();
    for (const std::string& history : scene.histories()) {
      // A client that was killed at once has asked nothing.
      if (std::filesystem::exists(history)) histories.push_back(history);
    }
  }
  if (rolled) kept = Tell(*rolled, histories);
  const bool accepted = Accepts(options, folder, histories) && kept;
  if (accepted && !options.keep) std::filesystem::remove_all(folder);
  if (!accepted) std::cout << "histories and logs: " << folder << "\n";
  return accepted;
}

int RunAll(const Options& options) {
  int refused = 0;
  const auto end = Clock::now() + std::chrono::duration<double, std::ratio<60>>(options.minutes);
  uint64_t runs = 0;
  do {
    if (!Run(options, options.seed + runs)) ++refused;
    ++runs;
  } while (options.runs > 0 ? runs < options.runs : Clock::now() < end);
  std::cout << runs << " runs, " << refused << " refused\n";
  return refused == 0 ? 0 : 1;
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("Checks the histories of real processes.");
  app.add_option("--checker", options.checker, "Program that judges a history")->required();
  app.add_option("--daemon", options.daemon, "Another lockkeeperd")->capture_default_str();
  app.add_option("--minutes", options.minutes, "Begins runs for so long")->capture_default_str();
  app.add_option("--runs", options.runs, "How many runs, whatever time they take");
  app.add_option("--run-seconds", options.run_seconds, "Length of a run")->capture_default_str();
  app.add_option("--seed", options.seed, "Of the first run; the next ones follow");
  app.add_option("--output", options.output, "Folder for the histories")->capture_default_str();
  app.add_option("--without", options.without, "Faults that do not happen")
      ->check(CLI::IsMember(Faults::Names()));
  app.add_option("--failovers", options.failovers, "Failovers of a primary behind Sentinels")
      ->check(CLI::PositiveNumber);
  app.add_flag("--cluster", options.cluster,
               "Failovers of the primaries of a Redis Cluster instead")
      ->needs("--failovers");
  app.add_option("--ttl-ceiling", options.ttl_ceiling,
                 "Seconds of the longest lease in a run with failovers")
      ->needs("--failovers")
      ->check(CLI::Range(2, 60))
      ->capture_default_str();
  app.add_option("--reshard", options.reshard,
                 "Moves all slots of a Redis Cluster so often there and back, under load, instead")
      ->excludes("--failovers")
      ->check(CLI::PositiveNumber);
  app.add_flag("--roll", options.roll,
               "Daemons come, are replaced by those of another build, and go, instead")
      ->excludes("--failovers")
      ->excludes("--reshard");
  app.add_option("--former-daemon", options.former_daemon, "The lockkeeperd of that other build")
      ->needs("--roll");
  app.add_option("--assurance", options.assurance, "store.assurance of the daemons");
  app.add_flag("--until-restored", options.until_restored,
               "store.quarantine of the daemons is until_restored")
      ->needs("--failovers")
      ->excludes("--cluster");
  app.add_flag("--keep", options.keep, "Keep histories that were accepted");
  CLI11_PARSE(app, argc, argv);
  return RunAll(options);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return Main(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "histories: " << error.what() << "\n";
    return 70;
  }
}
