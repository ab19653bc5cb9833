// SPDX-License-Identifier: Apache-2.0
#include "bench/peers/etcd.h"

#include <chrono>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "bench/load/process_stat.h"
#include "bench/program.h"
#include "support/process/free_port.h"
#include "support/process/http_get.h"

namespace lockkeeper::bench {
namespace {

constexpr std::chrono::seconds kStartLimit{30};
constexpr std::chrono::milliseconds kPollInterval{20};
constexpr int kPortTries = 20;

std::string FreeAddress() { return "127.0.0.1:" + std::to_string(support::FreePort()); }

}  // namespace

Peer EtcdPeer() {
  return {.missing = ProgramInPath("etcd").empty() ? "no etcd in PATH" : "", .versions = [] {
            return std::map<std::string, std::string>{
                {"etcd", VersionIn(OutputOf({"etcd", "--version"}))}};
          }};
}

EtcdServer::EtcdServer() {
  // Somebody else may take a port before etcd does: then it ends.
  for (int i = 0; i < kPortTries; ++i) {
    Start();
    if (BecomesHealthy()) return;
  }
  std::ifstream log(directory_.Path("log"));
  throw std::runtime_error("etcd does not start:\n" +
                           std::string(std::istreambuf_iterator<char>(log), {}));
}

double EtcdServer::CpuSeconds() const { return CpuMicros(process_->pid()) / 1e6; }

void EtcdServer::Start() {
  directory_.Clear();
  address_ = FreeAddress();
  const std::string clients = "http://" + address_;
  const std::string peers = "http://" + FreeAddress();
  process_ = std::make_unique<support::ChildProcess>(support::ChildProcessOptions{
      .command = {"etcd", "--name=bench", "--data-dir=" + directory_.Path("data"),
                  "--listen-client-urls=" + clients, "--advertise-client-urls=" + clients,
                  "--listen-peer-urls=" + peers, "--initial-advertise-peer-urls=" + peers,
                  "--initial-cluster=bench=" + peers, "--logger=zap", "--log-level=error"},
      .output_file = directory_.Path("log")});
}

// False if it has ended.
bool EtcdServer::BecomesHealthy() {
  const auto until = std::chrono::steady_clock::now() + kStartLimit;
  while (!process_->WaitForEnd(kPollInterval)) {
    if (support::HttpGet(address_, "/health").body.find("\"true\"") != std::string::npos)
      return true;
    if (std::chrono::steady_clock::now() > until) throw std::runtime_error("etcd is not healthy");
  }
  return false;
}

}  // namespace lockkeeper::bench
