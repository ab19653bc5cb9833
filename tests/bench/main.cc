// SPDX-License-Identifier: Apache-2.0
//
// `./dev bench`: measures all rows in turn, round after round, so that what drifts drifts for all;
// prints the medians and how they compare.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "bench/load/figures.h"
#include "bench/machine.h"
#include "bench/report.h"
#include "bench/servers.h"
#include "bench/sizes.h"

namespace lockkeeper::bench {
namespace {

struct Options {
  std::string json;
  std::vector<std::string> rows;  // Empty: all.
  int rounds = 5;
  double seconds = 2;
};

std::vector<std::string> RowNames() {
  std::vector<std::string> names;
  for (const Row& row : AllRows()) names.push_back(row.name);
  return names;
}

std::vector<Row> ChosenRows(const Options& options) {
  std::vector<Row> rows = AllRows();
  std::erase_if(rows, [&](const Row& row) {
    const std::vector<std::string>& names = options.rows;
    return !names.empty() && std::find(names.begin(), names.end(), row.name) == names.end();
  });
  return rows;
}

// Takes the rows out that cannot be measured here, and tells why.
void LeaveOut(Report& report) {
  std::erase_if(report.rows, [&](const Row& row) {
    if (!row.peer || row.peer->missing.empty()) return false;
    std::cerr << "bench: without " << row.name << ": " << row.peer->missing << "\n";
    report.left_out[row.name] = row.peer->missing;
    return true;
  });
}

// Whether the round has all rows that the ratio compares.
bool Compares(const Ratio& ratio, const Round& round) {
  try {
    ratio.of(round);
    return true;
  } catch (const std::out_of_range&) {
    return false;
  }
}

void Run(const Options& options) {
  Servers servers;
  Report report{.machine = DescribeMachine(servers),
                .command = "./dev bench",
                .rows = ChosenRows(options),
                .ratios = Ratios()};
  LeaveOut(report);
  for (const Row& row : report.rows) {
    if (row.peer) report.machine.merge(row.peer->versions());
  }
  std::cerr << "bench: redis-server " << report.machine.at("redis")
            << " of its own, on a unix socket, without persistence\n";
  for (int i = 0; i < options.rounds; ++i) {
    std::cerr << "bench: round " << i + 1 << " of " << options.rounds << "\n";
    // Back and forth, so that no row is always the one that comes after a certain other.
    std::vector<Row> rows = report.rows;
    if (i % 2 == 1) std::reverse(rows.begin(), rows.end());
    const OtherPrograms others(servers);
    Round& round = report.rounds.emplace_back();
    for (const Row& row : rows) round[row.name] = row.measure(servers, options.seconds);
    report.other_programs.push_back(others.Share());
  }
  std::erase_if(report.ratios,
                [&](const Ratio& ratio) { return !Compares(ratio, report.rounds.front()); });
  std::cout << ToMarkdown(report) << std::flush;
  if (options.json.empty()) return;
  std::ofstream file(options.json);
  file << ToJson(report);
  if (!file.flush()) throw std::runtime_error("cannot write " + options.json);
}

// The words behind `sizes`.
int MainOfSizes(int argc, char** argv) {
  SizesOptions options;
  CLI::App app("Measures what one of each costs", "./dev bench sizes");
  app.add_option("--rounds", options.rounds)->check(CLI::Range(1, 1000))->capture_default_str();
  app.add_option("--seconds", options.seconds, "For each load in each round")
      ->check(CLI::Range(0.01, 600.0))
      ->capture_default_str();
  app.add_option("--share", options.share, "Of the usual number of things")
      ->check(CLI::Range(0.0001, 10.0))
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  MeasureSizes(options);
  return 0;
}

int Main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "sizes") return MainOfSizes(argc - 1, argv + 1);
  Options options;
  CLI::App app("Measures lockkeeper beside its peers", "./dev bench");
  app.add_option("--json", options.json, "Write the figures there too")->type_name("FILE");
  app.add_option("--rows", options.rows, "Only these, by name")
      ->check(CLI::IsMember(RowNames()))
      ->type_name("ROW");
  app.add_option("--rounds", options.rounds)->check(CLI::Range(1, 1000))->capture_default_str();
  app.add_option("--seconds", options.seconds, "For each row in each round")
      ->check(CLI::Range(0.01, 600.0))
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  Run(options);
  return 0;
}

}  // namespace
}  // namespace lockkeeper::bench

int main(int argc, char** argv) {
  return lockkeeper::bench::ProgramMain("bench",
                                        [&] { return lockkeeper::bench::Main(argc, argv); });
}
