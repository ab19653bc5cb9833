// SPDX-License-Identifier: Apache-2.0
//
// Unary calls in closed loops: acquire and release in turn, each loop its own lock, against the
// daemon; or echoes of a message as long as an AcquireResponse, against the echo server.
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "bench/load/call_loop.h"
#include "bench/load/latencies.h"
#include "core/types.h"
#include "echo/echo.grpc.pb.h"
#include "lockkeeper/v1/lock_service.grpc.pb.h"

namespace lockkeeper::bench {
namespace {

using Phase = LoadControl::Phase;
using std::chrono::duration;

constexpr duration<double> kWarmUp{0.4};
constexpr int kTtlSeconds = 30;

struct Options {
  std::string target;
  std::string address;
  size_t connections = 1;
  size_t outstanding = 1;  // Of each connection.
  double seconds = 1;
};

// What all loops measured.
struct Measured {
  Latencies acquires, releases, echoes;

  size_t count() const { return acquires.count() + releases.count() + echoes.count(); }
};

class LockLoop final : public CallLoop {
 public:
  LockLoop(LoadControl& control, v1::LockService::Stub& stub, const std::string& name)
      : CallLoop(control), stub_(stub) {
    acquire_.set_name(name);
    acquire_.set_owner("bench");
    acquire_.mutable_ttl()->set_seconds(kTtlSeconds);
    release_.set_name(name);
  }

  void AddTo(Measured& measured) const {
    measured.acquires.Merge(acquires_);
    measured.releases.Merge(releases_);
  }

 private:
  void Send(grpc::ClientContext& context) override {
    holds_ = !holds_;
    if (holds_) {
      acquire_.set_lease_id(std::string(core::LeaseId::FromBits(random_(), random_()).digits()));
      stub_.async()->Acquire(&context, &acquire_, &acquired_,
                             [this](const grpc::Status& status) { Answered(status, acquires_); });
    } else {
      release_.set_lease_id(acquire_.lease_id());
      stub_.async()->Release(&context, &release_, &released_,
                             [this](const grpc::Status& status) { Answered(status, releases_); });
    }
  }

  std::string Check() override {
    if (holds_) return acquired_.has_lease() ? "" : "a lock was not granted";
    return released_.released() ? "" : "a lock was not released";
  }

  bool MayEnd() const override { return !holds_; }

  v1::LockService::Stub& stub_;
  std::mt19937_64 random_{std::random_device()()};
  bool holds_ = false;
  v1::AcquireRequest acquire_;
  v1::AcquireResponse acquired_;
  v1::ReleaseRequest release_;
  v1::ReleaseResponse released_;
  Latencies acquires_, releases_;
};

// As many bytes as the answer to a granted acquire has.
size_t AnswerBytes() {
  constexpr int64_t kMicrosToday = 1'800'000'000'000'000;
  v1::AcquireResponse response;
  v1::Lease& lease = *response.mutable_lease();
  lease.set_name("bench/lock/0000");
  lease.set_lease_id(std::string(core::HexId::kLength, 'a'));
  lease.set_fencing_token(kMicrosToday);
  lease.mutable_ttl()->set_seconds(kTtlSeconds);
  lease.mutable_remaining_ttl()->set_seconds(kTtlSeconds);
  lease.mutable_expire_time()->set_seconds(kMicrosToday / 1'000'000);
  lease.mutable_expire_time()->set_nanos(999'999'000);
  lease.mutable_waited();
  lease.set_assurance(v1::ASSURANCE_MEMORY);
  return response.ByteSizeLong();
}

class EchoLoop final : public CallLoop {
 public:
  EchoLoop(LoadControl& control, EchoService::Stub& stub) : CallLoop(control), stub_(stub) {
    constexpr size_t kTagAndLength = 2;
    request_.set_payload(std::string(AnswerBytes() - kTagAndLength, 'e'));
  }

  void AddTo(Measured& measured) const { measured.echoes.Merge(echoes_); }

 private:
  void Send(grpc::ClientContext& context) override {
    stub_.async()->Echo(&context, &request_, &response_,
                        [this](const grpc::Status& status) { Answered(status, echoes_); });
  }

  std::string Check() override {
    return response_.payload().size() == request_.payload().size() ? "" : "another echo";
  }

  EchoService::Stub& stub_;
  EchoRequest request_;
  EchoResponse response_;
  Latencies echoes_;
};

std::shared_ptr<grpc::Channel> Connect(const Options& options) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // A connection of its own.
  return grpc::CreateCustomChannel(options.address, grpc::InsecureChannelCredentials(), arguments);
}

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// `make` gives the loop with this number on this stub.
template <typename Service, typename Make>
void Run(const Options& options, const Make& make) {
  LoadControl control;
  std::vector<std::unique_ptr<typename Service::Stub>> stubs;
  std::vector<decltype(make(control, *stubs.front(), size_t{0}))> loops;
  for (size_t i = 0; i < options.connections; ++i) {
    stubs.push_back(Service::NewStub(Connect(options)));
    for (size_t k = 0; k < options.outstanding; ++k) {
      loops.push_back(make(control, *stubs.back(), loops.size()));
    }
  }
  for (auto& loop : loops) loop->Start();
  control.Run(Phase::kWarmUp, kWarmUp);
  const double cpu_before = CpuSeconds();
  const auto begin = SteadyClock::now();
  control.Run(Phase::kCount, duration<double>(options.seconds));
  const duration<double> elapsed = SteadyClock::now() - begin;
  const double cpu = CpuSeconds() - cpu_before;
  control.Stop(loops.size());

  Measured measured;
  uint64_t calls = 0;
  for (const auto& loop : loops) {
    loop->AddTo(measured);
    calls += loop->calls();
  }
  const auto count = static_cast<double>(measured.count());
  PrintFigure("rpc_per_s", count / elapsed.count());
  PrintFigure("client_cpu_us_per_rpc", cpu * 1e6 / count);
  PrintFigure("calls", static_cast<double>(calls));
  if (measured.echoes.count() != 0) return measured.echoes.Print("echo");
  measured.acquires.Print("acquire");
  measured.releases.Print("release");
}

void Run(const Options& options) {
  if (options.target == "echo") {
    return Run<EchoService>(options, [](LoadControl& control, auto& stub, size_t) {
      return std::make_unique<EchoLoop>(control, stub);
    });
  }
  Run<v1::LockService>(options, [](LoadControl& control, auto& stub, size_t number) {
    return std::make_unique<LockLoop>(control, stub, "bench/lock/" + std::to_string(1000 + number));
  });
}

}  // namespace
}  // namespace lockkeeper::bench

int main(int argc, char** argv) {
  lockkeeper::bench::Options options;
  CLI::App app("Loads a server with unary calls");
  app.add_option("--target", options.target)->required()->check(CLI::IsMember({"locks", "echo"}));
  app.add_option("--address", options.address, "Where the server listens")->required();
  app.add_option("--connections", options.connections)->check(CLI::Range(1, 1024));
  app.add_option("--outstanding", options.outstanding, "Calls at a time on each connection")
      ->check(CLI::Range(1, 8192));
  app.add_option("--seconds", options.seconds)->check(CLI::Range(0.01, 600.0));
  CLI11_PARSE(app, argc, argv);
  try {
    lockkeeper::bench::Run(options);
  } catch (const std::exception& error) {
    std::cerr << "bench_unary_load: " << error.what() << "\n";
    return 1;
  }
  return 0;
}
