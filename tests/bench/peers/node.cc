// SPDX-License-Identifier: Apache-2.0
#include "bench/peers/node.h"

#include <filesystem>
#include <fstream>

#include "bench/program.h"
#include "bench/servers.h"

namespace lockkeeper::bench {
namespace {

std::string Manifest(const std::string& package) {
  return NodeFolder() + "/node_modules/" + package + "/package.json";
}

std::string PackageVersion(const std::string& package) {
  std::ifstream file(Manifest(package));
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("  \"version\":")) return VersionIn(line);
  }
  return "unknown";
}

}  // namespace

std::string NodeFolder() {
  const std::filesystem::path program = ProgramPath("bench");
  return program.parent_path().parent_path() / "deps" / "bench_peers";
}

Peer NodePeer(const std::string& package) {
  std::string missing;
  if (ProgramInPath("node").empty()) missing = "no node in PATH";
  for (const std::string& needed : {std::string("ioredis"), package}) {
    if (!std::filesystem::exists(Manifest(needed))) missing = needed + " is not in build/deps";
  }
  return {.missing = missing, .versions = [package] {
            return std::map<std::string, std::string>{
                {"node", VersionIn(OutputOf({"node", "--version"}))},
                {"ioredis", PackageVersion("ioredis")},
                {package, PackageVersion(package)}};
          }};
}

}  // namespace lockkeeper::bench
