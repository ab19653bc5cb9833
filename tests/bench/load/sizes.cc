// SPDX-License-Identifier: Apache-2.0
//
// What one more of something costs in memory: connections, sessions, leases, waiters, records. N of
// them are made, and then N more; only the second half counts, when what the first ones needed once
// is there.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "bench/load/session_caller.h"
#include "bench/load/waiters.h"
#include "bench/load/watch.h"
#include "support/process/redis_connection.h"

namespace lockkeeper::bench {
namespace {

constexpr int kTtlSeconds = 600;
constexpr size_t kWaitersAtOnce = 500;
constexpr size_t kWaitersOfSession = 10'000;
constexpr size_t kCallers = 8;
constexpr size_t kConnectionsOfWaiters = 8;
constexpr std::chrono::seconds kPatience{20};
constexpr std::chrono::milliseconds kSettle{500};

struct Options : Watched {
  support::ClientFiles tls;
  std::string thing;
  size_t count = 1000;
};

// 24 bytes.
std::string LockName(size_t number) {
  return "bench/size/lock/" + std::to_string(10'000'000 + number);
}

// Things of one kind, which stay until the end.
class Crowd {
 public:
  virtual ~Crowd() = default;
  // There are `from` of them, and will be `to`.
  virtual void Grow(size_t from, size_t to) = 0;
};

class Connections : public Crowd {
 public:
  explicit Connections(const Options& options) : options_(options) {}

  void Grow(size_t from, size_t to) override {
    for (size_t i = from; i < to; ++i) {
      auto& channel = channels_.emplace_back(ConnectAlone(options_.address, options_.tls));
      if (!channel->WaitForConnected(std::chrono::system_clock::now() + kPatience)) {
        throw std::runtime_error("a connection is not accepted");
      }
    }
  }

 private:
  const Options& options_;
  std::vector<std::shared_ptr<grpc::Channel>> channels_;
};

// Each on a connection of its own.
class Sessions : public Crowd {
 public:
  explicit Sessions(const Options& options) : options_(options) {}

  void Grow(size_t from, size_t to) override {
    for (size_t i = from; i < to; ++i) {
      sessions_.push_back(
          std::make_unique<SessionCaller>(ConnectAlone(options_.address, options_.tls)));
    }
  }

 private:
  const Options& options_;
  std::vector<std::unique_ptr<SessionCaller>> sessions_;
};

class LeasesOfSession : public Crowd {
 public:
  explicit LeasesOfSession(const Options& options) : session_(ConnectAlone(options.address)) {}

  void Grow(size_t from, size_t to) override {
    std::vector<std::string> names;
    for (size_t i = from; i < to; ++i) names.push_back(LockName(i));
    session_.Acquire(names, kTtlSeconds);
  }

 private:
  SessionCaller session_;
};

// By unary calls of some callers at a time; perhaps released again.
class LeasesOfCalls : public Crowd {
 public:
  LeasesOfCalls(const Options& options, bool released) : released_(released) {
    for (size_t i = 0; i < kCallers; ++i) {
      stubs_.push_back(v1::LockService::NewStub(ConnectAlone(options.address)));
    }
  }

  void Grow(size_t from, size_t to) override {
    std::atomic<size_t> next = from;
    std::mutex mutex;
    std::string failure;
    std::vector<std::thread> threads;
    threads.reserve(stubs_.size());
    for (const auto& stub : stubs_) {
      threads.emplace_back([&, released = released_] {
        for (size_t i = next++; i < to; i = next++) {
          const std::string wrong = Take(*stub, LockName(i), released);
          const std::lock_guard lock(mutex);
          if (failure.empty()) failure = wrong;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    if (!failure.empty()) throw std::runtime_error(failure);
  }

 private:
  // Empty, or what went wrong.
  static std::string Take(v1::LockService::Stub& stub, const std::string& name, bool released) {
    const v1::AcquireRequest request = LongAcquireOf(name);
    grpc::ClientContext context;
    v1::AcquireResponse response;
    const grpc::Status acquired = stub.Acquire(&context, request, &response);
    if (!acquired.ok()) return "Acquire failed: " + acquired.error_message();
    if (!response.has_lease()) return name + " is held already";
    if (!released) return "";
    v1::ReleaseRequest release;
    release.set_name(name);
    release.set_lease_id(request.lease_id());
    grpc::ClientContext release_context;
    v1::ReleaseResponse released_response;
    const grpc::Status status = stub.Release(&release_context, release, &released_response);
    if (!status.ok()) return "Release failed: " + status.error_message();
    return released_response.released() ? "" : name + " could not be released";
  }

  const bool released_;
  std::vector<std::unique_ptr<v1::LockService::Stub>> stubs_;
};

// All for one lock, which another session holds.
class WaitersOfSessions : public Crowd {
 public:
  explicit WaitersOfSessions(const Options& options)
      : options_(options), holder_(ConnectAlone(options.address)) {
    holder_.Acquire({LockName(0)}, kTtlSeconds);
    for (size_t i = 0; i < 2 * options.count; i += kWaitersOfSession) {
      sessions_.push_back(std::make_unique<SessionCaller>(ConnectAlone(options.address)));
    }
  }

  void Grow(size_t from, size_t to) override {
    for (size_t standing = from; standing < to;) {
      const size_t left_here = kWaitersOfSession - standing % kWaitersOfSession;
      const size_t count = std::min({to - standing, kWaitersAtOnce, left_here});
      sessions_[standing / kWaitersOfSession]->StartWaiting(LockName(0), count, kTtlSeconds);
      standing += count;
      AwaitWaiters(options_.http, standing);
    }
  }

 private:
  const Options& options_;
  SessionCaller holder_;
  std::vector<std::unique_ptr<SessionCaller>> sessions_;
};

class WaitersOfCalls : public Crowd {
 public:
  explicit WaitersOfCalls(const Options& options)
      : options_(options),
        holder_(ConnectAlone(options.address)),
        waiters_(options.address, kConnectionsOfWaiters) {
    holder_.Acquire({LockName(0)}, kTtlSeconds);
  }

  void Grow(size_t from, size_t to) override {
    for (size_t i = from; i < to; ++i) {
      waiters_.Start(LockName(0), Claims::kWe);
      if (i % kWaitersAtOnce == kWaitersAtOnce - 1) AwaitWaiters(options_.http, i + 1);
    }
    AwaitWaiters(options_.http, to);
  }

 private:
  const Options& options_;
  SessionCaller holder_;
  Waiters waiters_;
};

using Make = std::function<std::unique_ptr<Crowd>(const Options&)>;

template <typename Kind, typename... Arguments>
Make MakerOf(Arguments... arguments) {
  return [=](const Options& options) { return std::make_unique<Kind>(options, arguments...); };
}

const std::map<std::string, Make>& Makers() {
  static const auto& makers =
      *new std::map<std::string, Make>{{"connections", MakerOf<Connections>()},
                                       {"sessions", MakerOf<Sessions>()},
                                       {"session-leases", MakerOf<LeasesOfSession>()},
                                       {"leases", MakerOf<LeasesOfCalls>(false)},
                                       {"released", MakerOf<LeasesOfCalls>(true)},
                                       {"session-waiters", MakerOf<WaitersOfSessions>()},
                                       {"waiters", MakerOf<WaitersOfCalls>()}};
  return makers;
}

double RedisBytes(const std::string& socket) {
  const std::string info = support::RedisConnection(socket).Run({"INFO", "memory"}).text;
  constexpr std::string_view kField = "used_memory:";
  return std::stod(info.substr(info.find(kField) + kField.size()));
}

void Run(const Options& options) {
  const std::unique_ptr<Crowd> crowd = Makers().at(options.thing)(options);
  const auto pieces = static_cast<double>(options.count);
  const double daemon_empty = ResidentBytes(options.daemon);
  crowd->Grow(0, options.count);
  LetPass(kSettle);
  const double daemon_before = ResidentBytes(options.daemon);
  const double redis_before = RedisBytes(options.socket);
  crowd->Grow(options.count, 2 * options.count);
  LetPass(kSettle);
  PrintFigure("daemon_bytes_of_the_first", (daemon_before - daemon_empty) / pieces);
  PrintFigure("daemon_bytes", (ResidentBytes(options.daemon) - daemon_before) / pieces);
  PrintFigure("redis_bytes", (RedisBytes(options.socket) - redis_before) / pieces);
  PrintFigure("daemon_rss", ResidentBytes(options.daemon));
}

}  // namespace

void AddSizes(CLI::App& app) {
  CLI::App& command = *app.add_subcommand("sizes", "Memory that one more of something costs");
  const auto options = std::make_shared<Options>();
  AddWatchedOptions(command, *options);
  command.add_option("--tls-ca", options->tls.ca, "PEM file of the server's CA");
  command.add_option("--tls-cert", options->tls.certificate);
  command.add_option("--tls-key", options->tls.key);
  command.add_option("--thing", options->thing)->required()->check(CLI::IsMember(Makers()));
  command.add_option("--count", options->count, "So many, and then as many again")
      ->check(CLI::Range(1, 1'000'000));
  command.callback([options] { Run(*options); });
}

}  // namespace lockkeeper::bench
