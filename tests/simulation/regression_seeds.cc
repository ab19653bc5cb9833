// SPDX-License-Identifier: Apache-2.0
#include "simulation/regression_seeds.h"

#include <sstream>
#include <string>

#include "support/source_tree.h"

namespace lockkeeper::simulation {

std::vector<uint64_t> RegressionSeeds() {
  std::vector<uint64_t> seeds;
  std::istringstream file(support::ReadSourceFile("tests/simulation/regression_seeds.txt"));
  for (std::string line; std::getline(file, line);) {
    const std::string text = line.substr(0, line.find('#'));
    if (!text.empty()) seeds.push_back(std::stoull(text));
  }
  return seeds;
}

}  // namespace lockkeeper::simulation
