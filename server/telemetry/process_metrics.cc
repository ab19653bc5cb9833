// SPDX-License-Identifier: Apache-2.0
#include "telemetry/process_metrics.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

namespace lockkeeper::telemetry {
namespace {

constexpr double kMicro = 1e-6;

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * kMicro;
}

std::optional<double> ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  int64_t total_pages = 0;
  int64_t resident_pages = 0;
  if (!(file >> total_pages >> resident_pages)) return std::nullopt;
  return static_cast<double>(resident_pages * sysconf(_SC_PAGESIZE));
}

std::optional<double> OpenFds() {
  std::error_code error;
  const std::filesystem::directory_iterator fds("/proc/self/fd", error);
  if (error) return std::nullopt;
  // The iterator itself has one descriptor open.
  return static_cast<double>(std::distance(begin(fds), end(fds)) - 1);
}

// Field 22 of /proc/self/stat is the start in clock ticks since boot. The second field, the name in
// parentheses, may contain anything, so counting starts behind its end.
std::optional<double> StartTime() {
  std::ifstream file("/proc/self/stat");
  std::string text;
  if (!std::getline(file, text)) return std::nullopt;
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream rest(text.substr(name_end + 1));
  std::string skipped;
  for (int number = 3; number < 22; ++number) rest >> skipped;
  double ticks = 0;
  if (!(rest >> ticks)) return std::nullopt;
  timespec since_boot{};
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &since_boot);
  clock_gettime(CLOCK_REALTIME, &now);
  constexpr double kNanosecond = 1e-9;
  const double booted = static_cast<double>(now.tv_sec - since_boot.tv_sec) +
                        kNanosecond * static_cast<double>(now.tv_nsec - since_boot.tv_nsec);
  return std::round(booted + ticks / static_cast<double>(sysconf(_SC_CLK_TCK)));
}

}  // namespace

std::vector<std::pair<MetricInfo, double>> ReadProcessMetrics() {
  std::vector<std::pair<MetricInfo, double>> all;
  const auto add = [&all](const MetricInfo& metric, std::optional<double> value) {
    if (value) all.emplace_back(metric, *value);
  };
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  add(catalog::kProcessCpuSecondsTotal, Seconds(usage.ru_utime) + Seconds(usage.ru_stime));
  add(catalog::kProcessResidentMemoryBytes, ResidentBytes());
  add(catalog::kProcessOpenFds, OpenFds());
  rlimit fds{};
  getrlimit(RLIMIT_NOFILE, &fds);
  add(catalog::kProcessMaxFds, static_cast<double>(fds.rlim_cur));
  // Once: a clock that is set must not look like a restart.
  static const std::optional<double> kStartTime = StartTime();
  add(catalog::kProcessStartTimeSeconds, kStartTime);
  return all;
}

}  // namespace lockkeeper::telemetry
