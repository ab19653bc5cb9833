// SPDX-License-Identifier: Apache-2.0
//
// What a client that only costs does to another one: the 99th percentile of the other's acquires
// and releases, one after the other, with and without an attack in turn, and their ratio. And what
// it does to the memory of the daemon.
#include <grpcpp/create_channel.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "bench/load/program_main.h"
#include "lockkeeper/admin/v1/admin_service.pb.h"
#include "lockkeeper/v1/lock_service.grpc.pb.h"
#include "support/process/process_memory.h"
#include "support/rpc/lock_requests.h"
#include "support/rpc/raw_http2.h"

namespace lockkeeper::bench {
namespace {

using Clock = std::chrono::steady_clock;
using support::RawHttp2;

// Of the other client, not measured: what an attack has left behind is worked off meanwhile.
constexpr std::chrono::milliseconds kSettle{1'500};
// Between two writes of a connection with a rate.
constexpr std::chrono::milliseconds kPace{4};
// Of the other client: it tries again until then.
constexpr std::chrono::seconds kGiveUp{30};
constexpr int kCallsPerWriteMax = 100;

enum class Kind { kReset, kResetWithMessage, kUnreadLists };

struct Attack {
  Kind kind = Kind::kReset;
  int connections = 2;
  int rate = 25'000;  // Calls per second over all connections. 0: as fast as they go.
  int addresses = 1;  // That the connections come from in turn.
  int open = 200;     // Unread lists over all connections at a time. 0: without end.
};

// A page of as many bytes as a page may have.
constexpr int kLocksListed = 1'000;

// One connection of an attack, and another when it is closed.
class Flood {
 public:
  Flood(uint16_t port, const Attack& attack) : port_(port), attack_(attack) {}

  void Run(const std::stop_token& stop) {
    auto next = Clock::now();
    while (!stop.stop_requested()) {
      try {
        Write();
      } catch (const std::system_error&) {  // The daemon has closed it in the middle of a write.
        client_.reset();
      }
      if (attack_.rate == 0) continue;
      next = std::max(next + kPace, Clock::now() - kPace);
      std::unique_lock lock(mutex_);
      stopped_.wait_until(lock, stop, next, [] { return false; });
    }
  }

  int64_t calls() const { return calls_; }
  int64_t connections() const { return connections_; }

 private:
  void Write() {
    if (!client_) {
      const auto host = static_cast<uint8_t>(2 + connections_++ % attack_.addresses);
      client_ =
          std::make_unique<RawHttp2>(port_, attack_.kind == Kind::kUnreadLists ? 0 : 65'535, host);
      open_ = 0;
    }
    for (int64_t left = CallsNow(); left > 0; --left) Call();
    if (!client_->Flush() || !client_->ReadFor(std::chrono::milliseconds(0))) client_.reset();
  }

  int64_t CallsNow() {
    if (attack_.kind == Kind::kUnreadLists && attack_.open > 0) {
      const int64_t more = attack_.open / attack_.connections - open_;
      open_ += more;
      return more;
    }
    if (attack_.rate == 0) return attack_.kind == Kind::kUnreadLists ? 1 : kCallsPerWriteMax;
    owed_ += attack_.rate * std::chrono::duration<double>(kPace).count() / attack_.connections;
    const auto now = static_cast<int64_t>(owed_);
    owed_ -= static_cast<double>(now);
    return now;
  }

  void Call() {
    const std::string acquire = "/lockkeeper.v1.LockService/Acquire";
    ++calls_;
    switch (attack_.kind) {
      case Kind::kReset:
        return client_->Reset(client_->Open(acquire));
      case Kind::kResetWithMessage:
        return client_->Reset(client_->Call(acquire, acquire_));
      case Kind::kUnreadLists:
        client_->Call("/lockkeeper.admin.v1.AdminService/ListLocks", list_);
    }
  }

  static std::string ListAll() {
    admin::v1::ListLocksRequest request;
    request.set_page_size(kLocksListed);
    return request.SerializeAsString();
  }

  const uint16_t port_;
  const Attack& attack_;
  const std::string acquire_ = support::AcquireOf("flood").SerializeAsString();
  const std::string list_ = ListAll();
  std::mutex mutex_;
  std::condition_variable_any stopped_;  // Never told: the stop token is.
  std::unique_ptr<RawHttp2> client_;
  int64_t open_ = 0;
  double owed_ = 0;  // Calls.
  std::atomic<int64_t> calls_ = 0;
  std::atomic<int64_t> connections_ = 0;
};

class OtherClient {
 public:
  explicit OtherClient(const std::string& address)
      : stub_(v1::LockService::NewStub(
            grpc::CreateChannel(address, grpc::InsecureChannelCredentials()))) {}

  // In microseconds.
  double P99(std::chrono::milliseconds time) {
    std::vector<double> took;
    for (const auto end = Clock::now() + time; Clock::now() < end;) {
      const auto start = Clock::now();
      while (!AcquireAndRelease()) {
        if (Clock::now() > start + kGiveUp) throw std::runtime_error("the daemon does not serve");
      }
      took.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count() / 2);
    }
    std::sort(took.begin(), took.end());
    return took[took.size() * 99 / 100];
  }

  // Locks that are as long in a list as locks may be.
  void AcquireLong(int count) {
    for (int i = 0; i < count; ++i) {
      v1::AcquireRequest request = support::AcquireOf(std::to_string(i) + std::string(500, 'n'), "",
                                                      std::chrono::seconds(60));
      for (int label = 0; label < 8; ++label) {
        (*request.mutable_labels())["label " + std::to_string(label)] = std::string(250, 'v');
      }
      if (!Acquire(request)) throw std::runtime_error("the locks to list are not acquired");
    }
  }

 private:
  bool AcquireAndRelease() {
    const std::string id = support::NewLeaseId();
    v1::ReleaseResponse released;
    return Acquire(support::AcquireOf("other", id)) &&
           Call(&v1::LockService::Stub::Release, support::ReleaseOf("other", id), released);
  }

  bool Acquire(const v1::AcquireRequest& request) {
    v1::AcquireResponse response;
    return Call(&v1::LockService::Stub::Acquire, request, response);
  }

  template <typename Method, typename Request, typename Response>
  bool Call(Method method, const Request& request, Response& response) {
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    context.set_deadline(std::chrono::system_clock::now() + kGiveUp);
    return (stub_.get()->*method)(&context, request, &response).ok();
  }

  const std::unique_ptr<v1::LockService::Stub> stub_;
};

// The most memory that a process has while this lives, in MB.
class MemoryPeak {
 public:
  explicit MemoryPeak(pid_t process) : process_(process) {}

  double Stop() {
    thread_.request_stop();
    thread_.join();
    return most_;
  }

 private:
  const pid_t process_;
  double most_ = 0;
  std::mutex mutex_;
  std::condition_variable_any stopped_;  // Never told: the stop token is.
  std::jthread thread_{[this](const std::stop_token& stop) {
    while (!stop.stop_requested() && process_ != 0) {
      most_ = std::max(most_, support::ResidentBytes(process_) / 1e6);
      std::unique_lock lock(mutex_);
      stopped_.wait_for(lock, stop, std::chrono::milliseconds(5), [] { return false; });
    }
  }};
};

// The ratio of the other's 99th percentiles.
double Round(OtherClient& other, uint16_t port, pid_t daemon, const Attack& attack,
             std::chrono::seconds time) {
  if (attack.kind == Kind::kUnreadLists) other.AcquireLong(kLocksListed);
  other.P99(kSettle);
  const double without = other.P99(time);
  std::vector<std::unique_ptr<Flood>> floods;
  std::vector<std::jthread> threads;
  MemoryPeak peak(daemon);
  const auto start = Clock::now();
  for (int i = 0; i < attack.connections; ++i) {
    Flood& flood = *floods.emplace_back(std::make_unique<Flood>(port, attack));
    threads.emplace_back([&flood](const std::stop_token& stop) { flood.Run(stop); });
  }
  const double with = other.P99(time);
  const double took = std::chrono::duration<double>(Clock::now() - start).count();
  int64_t calls = 0;
  int64_t connections = 0;
  for (const auto& flood : floods) {
    calls += flood->calls();
    connections += flood->connections();
  }
  for (std::jthread& thread : threads) thread.request_stop();
  threads.clear();
  floods.clear();
  other.P99(kSettle);
  std::cout << "without_us " << without << " with_us " << with << " ratio " << with / without
            << " calls_per_second " << static_cast<double>(calls) / took << " connections "
            << connections << " peak_mb " << peak.Stop();
  if (daemon != 0) std::cout << " afterwards_mb " << support::ResidentBytes(daemon) / 1e6;
  std::cout << std::endl;
  return with / without;
}

int Main(int argc, char** argv) {
  CLI::App app{"Compares another client's 99th percentile with and without an attack"};
  uint16_t port = 0;
  app.add_option("--port", port, "Where the daemon listens on 127.0.0.1")->required();
  pid_t daemon = 0;
  app.add_option("--pid", daemon, "Of the daemon, to tell its memory");
  Attack attack;
  app.add_option("--attack", attack.kind)
      ->transform(CLI::CheckedTransformer(
          std::map<std::string, Kind>{{"reset", Kind::kReset},
                                      {"reset-with-message", Kind::kResetWithMessage},
                                      {"unread-lists", Kind::kUnreadLists}}));
  app.add_option("--connections", attack.connections)->check(CLI::Range(1, 100));
  app.add_option("--addresses", attack.addresses, "Whose connections come from as many addresses")
      ->check(CLI::Range(1, 250));
  app.add_option("--rate", attack.rate, "Calls per second. 0: as fast as they go")
      ->check(CLI::Range(0, 10'000'000));
  app.add_option("--open", attack.open, "Unread lists that are left open. 0: more and more")
      ->check(CLI::Range(0, 10'000));
  int rounds = 5;
  app.add_option("--rounds", rounds)->check(CLI::Range(1, 100));
  int seconds = 5;
  app.add_option("--seconds", seconds, "Of each half of a round")->check(CLI::Range(1, 600));
  CLI11_PARSE(app, argc, argv);

  OtherClient other("127.0.0.1:" + std::to_string(port));
  std::vector<double> ratios;
  for (int round = 0; round < rounds; ++round) {
    ratios.push_back(Round(other, port, daemon, attack, std::chrono::seconds(seconds)));
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
