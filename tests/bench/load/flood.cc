// SPDX-License-Identifier: Apache-2.0
//
// What a client that only costs does to another one: the 99th percentile of the other's acquires
// and releases, one after the other, with and without an attack in turn, and their ratio.
#include <grpcpp/create_channel.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <iostream>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "bench/load/program_main.h"
#include "lockkeeper/admin/v1/admin_service.pb.h"
#include "lockkeeper/v1/lock_service.grpc.pb.h"
#include "support/rpc/lock_requests.h"
#include "support/rpc/raw_http2.h"

namespace lockkeeper::bench {
namespace {

using Clock = std::chrono::steady_clock;
using support::RawHttp2;

constexpr int kCallsPerWrite = 100;
// Of the other client, not measured: what an attack has left behind is worked off meanwhile.
constexpr std::chrono::milliseconds kSettle{1'500};

enum class Attack { kReset, kResetWithMessage, kUnreadLists };

// Attacks over one connection, and another when it is closed, until `stop`.
void Flood(uint16_t port, Attack attack, const std::atomic<bool>& stop) {
  const uint32_t window = attack == Attack::kUnreadLists ? 0 : 65'535;
  const std::string acquire = support::AcquireOf("flood").SerializeAsString();
  const std::string list = admin::v1::ListLocksRequest().SerializeAsString();
  std::unique_ptr<RawHttp2> client;
  while (!stop) {
    if (!client) client = std::make_unique<RawHttp2>(port, window);
    for (int i = 0; i < kCallsPerWrite; ++i) {
      const std::string path = "/lockkeeper.v1.LockService/Acquire";
      if (attack == Attack::kReset) client->Reset(client->Open(path));
      if (attack == Attack::kResetWithMessage) client->Reset(client->Call(path, acquire));
    }
    if (attack == Attack::kUnreadLists) {
      client->Call("/lockkeeper.admin.v1.AdminService/ListLocks", list);
    }
    if (!client->Flush() || !client->ReadFor(std::chrono::milliseconds(0))) client.reset();
  }
}

class OtherClient {
 public:
  explicit OtherClient(const std::string& address)
      : stub_(v1::LockService::NewStub(
            grpc::CreateChannel(address, grpc::InsecureChannelCredentials()))) {}

  // In microseconds.
  double P99(std::chrono::milliseconds time) {
    std::vector<double> took;
    for (const auto end = Clock::now() + time; Clock::now() < end;) {
      const std::string id = support::NewLeaseId();
      const auto start = Clock::now();
      v1::AcquireResponse acquired;
      Call(&v1::LockService::Stub::Acquire, support::AcquireOf("other", id), acquired);
      v1::ReleaseResponse released;
      Call(&v1::LockService::Stub::Release, support::ReleaseOf("other", id), released);
      took.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count() / 2);
    }
    std::sort(took.begin(), took.end());
    return took[took.size() * 99 / 100];
  }

 private:
  template <typename Method, typename Request, typename Response>
  void Call(Method method, const Request& request, Response& response) {
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    const grpc::Status status = (stub_.get()->*method)(&context, request, &response);
    if (!status.ok()) throw std::runtime_error(status.error_message());
  }

  const std::unique_ptr<v1::LockService::Stub> stub_;
};

int Main(int argc, char** argv) {
  CLI::App app{"Compares another client's 99th percentile with and without an attack"};
  uint16_t port = 0;
  app.add_option("--port", port, "Where the daemon listens on 127.0.0.1")->required();
  Attack attack = Attack::kReset;
  app.add_option("--attack", attack)
      ->transform(CLI::CheckedTransformer(
          std::map<std::string, Attack>{{"reset", Attack::kReset},
                                        {"reset-with-message", Attack::kResetWithMessage},
                                        {"unread-lists", Attack::kUnreadLists}}));
  int connections = 2;
  app.add_option("--connections", connections)->check(CLI::Range(1, 100));
  int rounds = 5;
  app.add_option("--rounds", rounds)->check(CLI::Range(1, 100));
  int seconds = 5;
  app.add_option("--seconds", seconds, "Of each half of a round")->check(CLI::Range(1, 600));
  CLI11_PARSE(app, argc, argv);

  OtherClient other("127.0.0.1:" + std::to_string(port));
  std::vector<double> ratios;
  for (int round = 0; round < rounds; ++round) {
    other.P99(kSettle);
    const double without = other.P99(std::chrono::seconds(seconds));
    std::atomic<bool> stop = false;
    std::vector<std::thread> floods;
    for (int i = 0; i < connections; ++i) {
      floods.emplace_back([&] {
        while (!stop) {
          try {
            Flood(port, attack, stop);
          } catch (const std::system_error&) {
            // The daemon has closed the connection in the middle of a write.
          }
        }
      });
    }
    const double with = other.P99(std::chrono::seconds(seconds));
    stop = true;
    for (std::thread& flood : floods) flood.join();
    ratios.push_back(with / without);
    std::cout << "without_us " << without << " with_us " << with << " ratio " << ratios.back()
              << std::endl;
  }
  std::sort(ratios.begin(), ratios.end());
  std::cout << "median_ratio " << ratios[ratios.size() / 2] << "\n";
  return 0;
}

}  // namespace
}  // namespace lockkeeper::bench

int main(int argc, char** argv) {
  return lockkeeper::bench::ProgramMain("bench_flood",
                                        [&] { return lockkeeper::bench::Main(argc, argv); });
}
