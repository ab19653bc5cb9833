// SPDX-License-Identifier: Apache-2.0
//
// histories --checker PROGRAM [--minutes N | --runs N] [--run-seconds N] [--seed S]
// [--output FOLDER] [--without FAULT...] [--keep] [--daemon PROGRAM]: runs of a Redis, daemons and
// clients as processes, with faults. Each leaves a history that the checker accepts or refuses.
// Exit code 0 only if all were accepted.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "histories/faults.h"
#include "histories/scene.h"

namespace {

using std::chrono::seconds;
using Clock = std::chrono::steady_clock;
using lockkeeper::histories::FaultOptions;
using lockkeeper::histories::Faults;
using lockkeeper::histories::SceneOptions;

constexpr seconds kQuietBegin{1};
constexpr seconds kQuietEnd{4};  // Longer than the longest quarantine.
constexpr std::chrono::minutes kCheckLimit{10};

struct Options {
  std::string checker;
  std::string daemon = LOCKKEEPERD_PROGRAM;
  std::string output = "histories";
  double minutes = 3;
  uint64_t runs = 0;  // 0: as many as the minutes allow.
  int run_seconds = 180;
  uint64_t seed = std::random_device{}();
  std::set<std::string> without;
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

bool Run(const Options& options, uint64_t seed) {
  lockkeeper::support::Random random(seed);
  const bool forgetting = seed % 2 == 0;  // So that two runs are one of each kind.
  const std::string folder = options.output + "/" + std::to_string(seed);
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  std::cout << "seed " << seed << (forgetting ? ", the store forgets: " : ": ") << std::flush;

  std::vector<std::string> histories = {folder + "/faults.jsonl"};
  {
    lockkeeper::histories::Scene scene({.daemon_program = std::filesystem::absolute(options.daemon),
                                        .client_program = HISTORY_CLIENT_PROGRAM,
                                        .output = folder},
                                       random.Bits());
    lockkeeper::histories::Journal journal(histories[0]);
    Faults faults(scene, journal, {forgetting, options.without}, random.Bits());
    scene.StartDaemons();
    scene.StartClients();
    const auto end = Clock::now() + seconds(options.run_seconds);
    std::this_thread::sleep_for(kQuietBegin);
    faults.RunUntil(end - kQuietEnd);
    std::this_thread::sleep_until(end);
    scene.StopClients();
    for (const std::string& history : scene.histories()) {
      // A client that was killed at once has asked nothing.
      if (std::filesystem::exists(history)) histories.push_back(history);
    }
  }
  const bool accepted = Accepts(options, folder, histories);
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

}  // namespace

int main(int argc, char** argv) {
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
  app.add_flag("--keep", options.keep, "Keep histories that were accepted");
  CLI11_PARSE(app, argc, argv);
  try {
    return RunAll(options);
  } catch (const std::exception& error) {
    std::cerr << "histories: " << error.what() << "\n";
    return 70;
  }
}
