// SPDX-License-Identifier: Apache-2.0
//
// Durations of a round's operations, and what programs print of them: `name value` lines, which
// program.h reads.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <iostream>
#include <map>
#include <string>
#include <vector>

namespace lockkeeper::bench {

using SteadyClock = std::chrono::steady_clock;

inline void PrintFigure(const std::string& name, double value) {
  std::printf("%s %.3f\n", name.c_str(), value);
}

// Thread-safety: not thread-safe; one per thread, then Merge.
class Latencies {
 public:
  void Add(SteadyClock::duration latency) {
    micros_.push_back(std::chrono::duration<float, std::micro>(latency).count());
  }

  void Merge(const Latencies& other) {
    micros_.insert(micros_.end(), other.micros_.begin(), other.micros_.end());
  }

  size_t count() const { return micros_.size(); }

  // In microseconds; `share` from 0 to 1. Zero if there are none.
  double Percentile(double share) {
    if (micros_.empty()) return 0;
    const auto rank = static_cast<size_t>(share * static_cast<double>(micros_.size() - 1));
    const auto at = micros_.begin() + static_cast<std::ptrdiff_t>(rank);
    std::nth_element(micros_.begin(), at, micros_.end());
    return *at;
  }

  // Prints NAME_p50_us and NAME_p99_us.
  void Print(const std::string& name) {
    PrintFigure(name + "_p50_us", Percentile(0.50));
    PrintFigure(name + "_p99_us", Percentile(0.99));
  }

 private:
  std::vector<float> micros_;
};

// By the kind of call, as it is printed.
using LatenciesByCall = std::map<std::string, Latencies>;

// The exit code that `body` answers; 1, and what went wrong on stderr, if it throws.
template <typename Body>
int ProgramMain(const char* program, const Body& body) {
  try {
    return body();
  } catch (const std::exception& error) {
    std::cerr << program << ": " << error.what() << "\n";
    return 1;
  }
}

}  // namespace lockkeeper::bench
