// SPDX-License-Identifier: Apache-2.0
//
// The figures that we are judged by: each compares rows of one round.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "bench/program.h"

namespace lockkeeper::bench {

// By the row's name.
using Round = std::map<std::string, Figures>;

struct Ratio {
  std::string name;
  std::string meaning;
  std::string target;
  std::function<double(const Round&)> of;
};

std::vector<Ratio> Ratios();

}  // namespace lockkeeper::bench
