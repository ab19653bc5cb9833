// SPDX-License-Identifier: Apache-2.0
//
// Unary calls in closed loops: acquire and release in turn, each loop its own lock, against the
// daemon; or echoes of a message as long as an AcquireResponse, against the echo server.
#include <CLI/CLI.hpp>
#include <map>
#include <memory>
#include <random>
#include <string>

#include "bench/load/call_loop.h"
#include "bench/load/closed_loops.h"
#include "bench/load/latencies.h"
#include "bench/load/program_main.h"
#include "core/types.h"
#include "echo/echo.grpc.pb.h"
#include "lockkeeper/v1/lock_service.grpc.pb.h"

namespace lockkeeper::bench {
namespace {

constexpr int kTtlSeconds = 30;

class LockLoop final : public CallLoop {
 public:
  LockLoop(LoadControl& control, const std::shared_ptr<grpc::Channel>& channel,
           const std::string& name)
      : CallLoop(control), stub_(channel) {
    acquire_.set_name(name);
    acquire_.set_owner("bench");
    acquire_.mutable_ttl()->set_seconds(kTtlSeconds);
    release_.set_name(name);
  }

  void AddTo(LatenciesByCall& latencies) const override {
    latencies["acquire"].Merge(acquires_);
    latencies["release"].Merge(releases_);
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

  v1::LockService::Stub stub_;
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
  enum class AnsweredBy { kTheReader, kAThread };

  EchoLoop(LoadControl& control, const std::shared_ptr<grpc::Channel>& channel, AnsweredBy who)
      : CallLoop(control), answered_by_(who), stub_(channel) {
    constexpr size_t kTagAndLength = 2;
    request_.set_payload(std::string(AnswerBytes() - kTagAndLength, 'e'));
  }

  void AddTo(LatenciesByCall& latencies) const override { latencies["echo"].Merge(echoes_); }

 private:
  void Send(grpc::ClientContext& context) override {
    const auto done = [this](const grpc::Status& status) { Answered(status, echoes_); };
    if (answered_by_ == AnsweredBy::kAThread) {
      stub_.async()->EchoByThread(&context, &request_, &response_, done);
    } else {
      stub_.async()->Echo(&context, &request_, &response_, done);
    }
  }

  std::string Check() override {
    return response_.payload().size() == request_.payload().size() ? "" : "another echo";
  }

  const AnsweredBy answered_by_;
  EchoService::Stub stub_;
  EchoRequest request_;
  EchoResponse response_;
  Latencies echoes_;
};

std::unique_ptr<CallLoop> MakeLockLoop(LoadControl& control,
                                       const std::shared_ptr<grpc::Channel>& channel,
                                       size_t number) {
  return std::make_unique<LockLoop>(control, channel,
                                    "bench/lock/" + std::to_string(1000 + number));
}

template <EchoLoop::AnsweredBy who>
std::unique_ptr<CallLoop> MakeEchoLoop(LoadControl& control,
                                       const std::shared_ptr<grpc::Channel>& channel, size_t) {
  return std::make_unique<EchoLoop>(control, channel, who);
}

int Main(int argc, char** argv) {
  LoadOptions options;
  std::string target;
  CLI::App app("Loads a server with unary calls");
  const std::map<std::string, MakeLoop> makers = {
      {"locks", MakeLockLoop},
      {"echo", MakeEchoLoop<EchoLoop::AnsweredBy::kTheReader>},
      {"echo-by-thread", MakeEchoLoop<EchoLoop::AnsweredBy::kAThread>}};
  app.add_option("--target", target)->required()->check(CLI::IsMember(makers));
  AddLoadOptions(app, options);
  CLI11_PARSE(app, argc, argv);
  RunClosedLoops(options, makers.at(target));
  return 0;
}

}  // namespace
}  // namespace lockkeeper::bench

int main(int argc, char** argv) {
  return lockkeeper::bench::ProgramMain("bench_unary_load",
                                        [&] { return lockkeeper::bench::Main(argc, argv); });
}
