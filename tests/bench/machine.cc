// SPDX-License-Identifier: Apache-2.0
#include "bench/machine.h"

#include <grpcpp/grpcpp.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "lockkeeper/build_info.h"

namespace lockkeeper::bench {
namespace {

// What follows `key` and one of `separators` in the first line of `path` that begins with it.
std::string Field(const std::string& path, const std::string& key, const char* separators) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    const size_t at = line.find_first_of(separators);
    const size_t begin = line.find_first_not_of(std::string(separators) + " \"", at);
    if (begin == std::string::npos) continue;
    return line.substr(begin, line.find_last_not_of('"') + 1 - begin);
  }
  return "unknown";
}

std::string System() {
  utsname name{};
  uname(&name);
  return Field("/etc/os-release", "PRETTY_NAME", "=") + ", " + name.sysname + " " + name.release;
}

// Of the file system where servers keep what they write: in memory, fsync costs nothing.
std::string KindOfDisk() {
  const std::string folder = std::filesystem::canonical(std::filesystem::temp_directory_path());
  std::ifstream mounts("/proc/self/mounts");
  std::string device, place, kind, rest, found;
  size_t longest = 0;
  while (mounts >> device >> place >> kind && std::getline(mounts, rest)) {
    const bool holds = place == "/" || folder == place || folder.starts_with(place + "/");
    if (!holds || place.size() < longest) continue;
    longest = place.size();
    found = kind;
  }
  return found;
}

double CpuSeconds(int who) {
  rusage usage{};
  getrusage(who, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace

std::map<std::string, std::string> DescribeMachine(const Servers& servers) {
  const BuildInfo& build = GetBuildInfo();
  return {{"version", std::string(build.version)},
          {"commit", std::string(build.git_commit)},
          {"compiler", std::string(build.compiler)},
          {"grpc", grpc::Version()},
          {"redis", servers.redis().Info("server", "redis_version")},
          {"disk", KindOfDisk()},
          {"system", System()},
          {"processor", Field("/proc/cpuinfo", "model name", ":")},
          {"processors", std::to_string(sysconf(_SC_NPROCESSORS_ONLN))}};
}

OtherPrograms::OtherPrograms(const Servers& servers) : servers_(servers), begin_(Now()) {}

double OtherPrograms::Share() const {
  const Used now = Now();
  const double others = (now.by_all - begin_.by_all) - (now.by_us - begin_.by_us);
  return std::max(0.0, others / (now.with_idle - begin_.with_idle));
}

OtherPrograms::Used OtherPrograms::Now() const {
  // proc(5): user, nice, system, idle, iowait, irq, softirq, steal.
  std::ifstream file("/proc/stat");
  std::string cpu;
  file >> cpu;
  double ticks[8] = {};
  for (double& kind : ticks) file >> kind;
  const double idle = ticks[3] + ticks[4];
  double all = 0;
  for (const double kind : ticks) all += kind;
  const auto per_second = static_cast<double>(sysconf(_SC_CLK_TCK));
  return {.by_all = (all - idle) / per_second,
          .by_us = CpuSeconds(RUSAGE_SELF) + CpuSeconds(RUSAGE_CHILDREN) + servers_.CpuSeconds(),
          .with_idle = all / per_second};
}

}  // namespace lockkeeper::bench
