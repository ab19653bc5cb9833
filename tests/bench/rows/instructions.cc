// SPDX-License-Identifier: Apache-2.0
//
// Instructions of the daemon's hot path for one operation, beside few and beside many leases that
// are held. Counted by valgrind, without servers; it is the same each time, so it is counted once.
#include <fstream>
#include <memory>
#include <stdexcept>

#include "bench/row.h"
#include "support/process/temporary_directory.h"

namespace lockkeeper::bench {
namespace {

// What callgrind has counted, as its file tells.
double CountIn(const std::string& path) {
  constexpr std::string_view kField = "totals: ";
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(kField)) return std::stod(line.substr(kField.size()));
  }
  throw std::runtime_error("callgrind has counted nothing");
}

Figures Count(const std::string& held) {
  const support::TemporaryDirectory directory;
  const std::string counts = directory.Path("counts");
  const Figures figures =
      RunProgram({"valgrind", "--quiet", "--tool=callgrind", "--callgrind-out-file=" + counts,
                  "--collect-atstart=no", "--toggle-collect=*MeasuredCycles*",
                  ProgramPath("bench_held_path"), "--held", held});
  return {{"instructions_per_operation", CountIn(counts) / figures.at("operations")}};
}

Peer Valgrind() {
  return {.missing = ProgramInPath("valgrind").empty() ? "there is no valgrind" : "",
          .versions = [] {
            return std::map<std::string, std::string>{
                {"valgrind", VersionIn(OutputOf({"valgrind", "--version"}))}};
          }};
}

Row InstructionsRow(const std::string& held) {
  const auto counted = std::make_shared<Figures>();
  return {.name = "instructions_" + held,
          .what = "instructions of the daemon's loop for an operation, " + held + " leases held",
          .rate = "",
          .latency = "",
          .measure =
              [=](Servers&, double) {
                if (counted->empty()) *counted = Count(held);
                return *counted;
              },
          .peer = Valgrind()};
}

}  // namespace

// A session takes a million leases at most.
std::vector<Row> InstructionRows() { return {InstructionsRow("1000"), InstructionsRow("999000")}; }

}  // namespace lockkeeper::bench
