// SPDX-License-Identifier: Apache-2.0
#include "bench/rows/service_load.h"

#include <utility>
#include <vector>

#include "bench/load/process_stat.h"

namespace lockkeeper::bench {
namespace {

Figures Measure(const Service& service, const Depth& depth, double seconds,
                std::vector<std::string> command) {
  for (const std::string& word :
       {std::string("--address"), service.daemon().GrpcAddress(), std::string("--connections"),
        std::to_string(depth.connections), std::string("--outstanding"),
        std::to_string(depth.outstanding), std::string("--seconds"), std::to_string(seconds)}) {
    command.push_back(word);
  }
  command.insert(command.end(), service.client_words().begin(), service.client_words().end());
  const pid_t daemon = service.daemon().pid();
  const double daemon_before = CpuMicros(daemon);
  const double store_before = service.StoreCpuMicros();
  Figures figures = RunProgram(command);
  figures["server_cpu_us_per_rpc"] = (CpuMicros(daemon) - daemon_before) / figures.at("calls");
  figures["redis_cpu_us_per_rpc"] = (service.StoreCpuMicros() - store_before) / figures.at("calls");
  figures["cycles_per_s"] = figures.at("rpc_per_s") / 2;
  return figures;
}

}  // namespace

Figures MeasureUnary(const Service& service, const Depth& depth, double seconds) {
  return Measure(service, depth, seconds,
                 {ProgramPath("bench_load"), "unary", "--target", "locks"});
}

Figures MeasureSession(const Service& service, const Depth& depth, double seconds) {
  return Measure(service, depth, seconds, {ProgramPath("bench_load"), "session"});
}

Figures MeasureWatchedUnary(const Service& service, const Depth& depth, double seconds) {
  return Measure(service, depth, seconds,
                 {ProgramPath("bench_load"), "unary", "--target", "locks", "--watchers", "1"});
}

Figures MeasureWatchedSession(const Service& service, const Depth& depth, double seconds) {
  return Measure(service, depth, seconds,
                 {ProgramPath("bench_load"), "session", "--watchers", "1"});
}

Figures MeasureSessionWatchedElsewhere(const Service& service, const Depth& depth, double seconds) {
  return Measure(
      service, depth, seconds,
      {ProgramPath("bench_load"), "session", "--watchers", "1", "--watch-prefix", "elsewhere/"});
}

Figures MeasureCrowdedSession(const Service& service, const Depth& depth, double seconds) {
  const double before = ResidentBytes(service.daemon().pid());
  Figures figures =
      Measure(service, depth, seconds,
              {ProgramPath("bench_load"), "session", "--watchers", "4", "--deaf-watchers", "1"});
  figures["daemon_mib_more"] = (ResidentBytes(service.daemon().pid()) - before) / (1 << 20);
  return figures;
}

Row CyclesRow(const std::string& name, const std::string& what, const Depth& depth,
              Figures (*measure)(const Service&, const Depth&, double),
              const Service& (*service)(Servers&)) {
  return {.name = name + depth.Suffix(),
          .what = what + ", " + depth.Text(),
          .rate = "cycles_per_s",
          .latency = "acquire",
          .measure = [=](Servers& servers, double seconds) {
            return measure(service(servers), depth, seconds);
          }};
}

}  // namespace lockkeeper::bench
