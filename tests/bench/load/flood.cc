// SPDX-License-Identifier: Apache-2.0
//
// What a client that only costs does to another one: the 99th percentile of the other's acquires
// and releases, one after the other, with and without an attack in turn, and their ratio. And what
// it does to the memory of the daemon.
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

#include "bench/load/load.h"
#include "lockkeeper/admin/v1/admin_service.pb.h"
#include "lockkeeper/v1/lock_service.grpc.pb.h"
#include "support/process/process_memory.h"
#include "support/rpc/lock_requests.h"
#include "support/rpc/raw_http2.h"

namespace lockkeeper::bench {
namespace {

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
    auto next = SteadyClock::now();
    while (!stop.stop_requested()) {
      try {
        Write();
      } catch (const std::system_error&) {  // The daemon has closed it in the middle of a write.
        client_.reset();
      }
      if (attack_.rate == 0) continue;
      next = std::max(next + kPace, SteadyClock::now() - kPace);
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
  explicit OtherClient(uint16_t port)
      : stub_(v1::LockService::NewStub(ConnectAlone("127.0.0.1:" + std::to_string(port)))) {}

  // In microseconds.
  double P99(std::chrono::milliseconds time) {
    std::vector<double> took;
    for (const auto end = SteadyClock::now() + time; SteadyClock::now() < end;) {
      const auto start = SteadyClock::now();
      while (!AcquireAndRelease()) {
        if (SteadyClock::now() > start + kGiveUp)
          throw std::runtime_error("the daemon does not serve");
      }
      took.push_back(std::chrono::duration<double, std::micro>(SteadyClock::now() - start).count() /
                     2);
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

struct Options {
  uint16_t port = 0;
  uint16_t attacked_port = 0;  // 0: the same daemon.
  pid_t attacked = 0;
  Attack attack;
  int rounds = 5;
  int seconds = 5;
};

// The ratio of the other's 99th percentiles.
double Round(OtherClient& other, const Options& options) {
  const Attack& attack = options.attack;
  const uint16_t port = options.attacked_port != 0 ? options.attacked_port : options.port;
  const std::chrono::seconds time(options.seconds);
  if (attack.kind == Kind::kUnreadLists) OtherClient(port).AcquireLong(kLocksListed);
  other.P99(kSettle);
  const double without = other.P99(time);
  std::vector<std::unique_ptr<Flood>> floods;
  std::vector<std::jthread> threads;
  MemoryPeak peak(options.attacked);
  const auto start = SteadyClock::now();
  for (int i = 0; i < attack.connections; ++i) {
    Flood& flood = *floods.emplace_back(std::make_unique<Flood>(port, attack));
    threads.emplace_back([&flood](const std::stop_token& stop) { flood.Run(stop); });
  }
  const double with = other.P99(time);
  const double took = std::chrono::duration<double>(SteadyClock::now() - start).count();
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
  if (options.attacked != 0) {
    std::cout << " afterwards_mb " << support::ResidentBytes(options.attacked) / 1e6;
  }
  std::cout << std::endl;
  return with / without;
}

void Run(const Options& options) {
  OtherClient other(options.port);
  std::vector<double> ratios;
  for (int round = 0; round < options.rounds; ++round) ratios.push_back(Round(other, options));
  std::sort(ratios.begin(), ratios.end());
  PrintFigure("median_ratio", ratios[ratios.size() / 2]);
}

}  // namespace

void AddFlood(CLI::App& app) {
  CLI::App& command = *app.add_subcommand(
      "flood", "Compares another client's 99th percentile with and without an attack");
  const auto options = std::make_shared<Options>();
  Attack& attack = options->attack;
  command.add_option("--port", options->port, "Where the daemon listens on 127.0.0.1")->required();
  command.add_option("--attacked-port", options->attacked_port,
                     "Another daemon that is attacked instead, to tell what the attack costs the "
                     "machine from what it costs the daemon");
  command.add_option("--pid", options->attacked, "Of the attacked daemon, to tell its memory");
  command.add_option("--attack", attack.kind)
      ->transform(CLI::CheckedTransformer(
          std::map<std::string, Kind>{{"reset", Kind::kReset},
                                      {"reset-with-message", Kind::kResetWithMessage},
                                      {"unread-lists", Kind::kUnreadLists}}));
  command.add_option("--connections", attack.connections)->check(CLI::Range(1, 100));
  command.add_option("--addresses", attack.addresses, "Of its connections")
      ->check(CLI::Range(1, 250));
  command.add_option("--rate", attack.rate, "Calls per second. 0: as fast as they go")
      ->check(CLI::Range(0, 10'000'000));
  command.add_option("--open", attack.open, "Unread lists that are left open. 0: more and more")
      ->check(CLI::Range(0, 10'000));
  command.add_option("--rounds", options->rounds)->check(CLI::Range(1, 100));
  command.add_option("--seconds", options->seconds, "Of each half of a round")
      ->check(CLI::Range(1, 600));
  command.callback([options] { Run(*options); });
}

}  // namespace lockkeeper::bench
