// SPDX-License-Identifier: Apache-2.0
//
// What all rounds together say, as Markdown for people and as JSON for programs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "bench/ratios.h"
#include "bench/row.h"

namespace lockkeeper::bench {

struct Report {
  std::map<std::string, std::string> machine;
  std::string command;
  std::vector<Row> rows;
  std::map<std::string, std::string> left_out;  // Rows that are missing here, and why.
  std::vector<Ratio> ratios;
  std::vector<Round> rounds;
  std::vector<double> other_programs;  // Their share of the machine in each round.
};

// The medians of the rounds, and for the ratios the lowest and the highest besides.
std::string ToMarkdown(const Report& report);

// {"machine": {...}, "rows": {ROW: {FIGURE: median}}, "ratios": {RATIO: median},
//  "ratio_ranges": {RATIO: [lowest, highest]}, "left_out": {ROW: why},
//  "other_programs": [share of each round]}
std::string ToJson(const Report& report);

}  // namespace lockkeeper::bench
