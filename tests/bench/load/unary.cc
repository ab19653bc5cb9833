// SPDX-License-Identifier: Apache-2.0
//
// Unary calls in closed loops: acquire and release in turn, each loop its own lock, at the daemon
// or at etcd (whose locks share one lease that outlives the run); or echoes of a message as long as
// an AcquireResponse, at the echo server.
#include <map>
#include <random>
#include <string>

#include "bench/load/load.h"
#include "core/types.h"
#include "echo/echo.grpc.pb.h"
#include "lockkeeper/v1/lock_service.grpc.pb.h"
#include "peers/etcd/lease.grpc.pb.h"
#include "peers/etcd/lock.grpc.pb.h"

namespace lockkeeper::bench {
namespace {

constexpr int kTtlSeconds = 30;
constexpr int64_t kEtcdTtlSeconds = 3600;

std::string LockName(size_t number) { return "bench/lock/" + std::to_string(1000 + number); }

// Acquires and releases one lock in turn.
class CycleLoop : public CallLoop {
 public:
  using CallLoop::CallLoop;

 protected:
  using Done = std::function<void(grpc::Status)>;
  virtual void Acquire(grpc::ClientContext& context, const Done& done) = 0;
  virtual void Release(grpc::ClientContext& context, const Done& done) = 0;
  virtual bool acquired() const = 0;
  virtual bool released() const = 0;

 private:
  void Send(grpc::ClientContext& context) override {
    holds_ = !holds_;
    if (holds_) {
      Acquire(context, [this](const grpc::Status& status) { Answered(status, acquires_); });
    } else {
      Release(context, [this](const grpc::Status& status) { Answered(status, releases_); });
    }
  }

  std::string Check() override {
    if (holds_) return acquired() ? "" : "a lock was not granted";
    return released() ? "" : "a lock was not released";
  }

  bool MayEnd() const override { return !holds_; }

  bool holds_ = false;
  Latencies& acquires_ = Of("acquire");
  Latencies& releases_ = Of("release");
};

class LockLoop final : public CycleLoop {
 public:
  LockLoop(LoadControl& control, const std::shared_ptr<grpc::Channel>& channel, size_t number)
      : CycleLoop(control), stub_(channel) {
    acquire_.set_name(LockName(number));
    acquire_.set_owner("bench");
    acquire_.mutable_ttl()->set_seconds(kTtlSeconds);
    release_.set_name(acquire_.name());
  }

 private:
  void Acquire(grpc::ClientContext& context, const Done& done) override {
    acquire_.set_lease_id(std::string(core::LeaseId::FromBits(random_(), random_()).digits()));
    stub_.async()->Acquire(&context, &acquire_, &acquired_, done);
  }
  void Release(grpc::ClientContext& context, const Done& done) override {
    release_.set_lease_id(acquire_.lease_id());
    stub_.async()->Release(&context, &release_, &released_, done);
  }
  bool acquired() const override { return acquired_.has_lease(); }
  bool released() const override { return released_.released(); }

  v1::LockService::Stub stub_;
  std::mt19937_64 random_{std::random_device()()};
  v1::AcquireRequest acquire_;
  v1::AcquireResponse acquired_;
  v1::ReleaseRequest release_;
  v1::ReleaseResponse released_;
};

class EtcdLoop final : public CycleLoop {
 public:
  EtcdLoop(LoadControl& control, const std::shared_ptr<grpc::Channel>& channel, size_t number,
           int64_t lease)
      : CycleLoop(control), stub_(channel) {
    lock_.set_name(LockName(number));
    lock_.set_lease(lease);
  }

 private:
  void Acquire(grpc::ClientContext& context, const Done& done) override {
    stub_.async()->Lock(&context, &lock_, &locked_, done);
  }
  void Release(grpc::ClientContext& context, const Done& done) override {
    unlock_.set_key(locked_.key());
    stub_.async()->Unlock(&context, &unlock_, &unlocked_, done);
  }
  bool acquired() const override { return !locked_.key().empty(); }
  bool released() const override { return true; }

  v3lockpb::Lock::Stub stub_;
  v3lockpb::LockRequest lock_;
  v3lockpb::LockResponse locked_;
  v3lockpb::UnlockRequest unlock_;
  v3lockpb::UnlockResponse unlocked_;
};

int64_t GrantLease(const std::string& address) {
  etcdserverpb::Lease::Stub leases(ConnectAlone(address));
  grpc::ClientContext context;
  etcdserverpb::LeaseGrantRequest request;
  request.set_ttl(kEtcdTtlSeconds);
  etcdserverpb::LeaseGrantResponse response;
  const grpc::Status status = leases.LeaseGrant(&context, request, &response);
  if (!status.ok()) throw std::runtime_error("etcd grants no lease: " + status.error_message());
  return response.id();
}

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

  EchoLoop(LoadControl& control, const std::shared_ptr<grpc::Channel>& channel, size_t,
           AnsweredBy who)
      : CallLoop(control), answered_by_(who), stub_(channel) {
    constexpr size_t kTagAndLength = 2;
    request_.set_payload(std::string(AnswerBytes() - kTagAndLength, 'e'));
  }

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
  Latencies& echoes_ = Of("echo");
};

template <typename Loop, typename... Arguments>
MakeLoop MakerOf(Arguments... arguments) {
  return [=](LoadControl& control, const auto& channel, size_t number) {
    return std::make_unique<Loop>(control, channel, number, arguments...);
  };
}

}  // namespace

void AddUnary(CLI::App& app) {
  const auto target = std::make_shared<std::string>();
  static const auto& makers = *new std::map<std::string, MakeLoop>{
      {"locks", MakerOf<LockLoop>()},
      {"echo", MakerOf<EchoLoop>(EchoLoop::AnsweredBy::kTheReader)},
      {"echo-by-thread", MakerOf<EchoLoop>(EchoLoop::AnsweredBy::kAThread)}};
  AddLoad(app, "unary", "Unary calls to the daemon or the echo server",
          [target](const LoadOptions& options) { RunClosedLoops(options, makers.at(*target)); })
      .add_option("--target", *target)
      ->required()
      ->check(CLI::IsMember(makers));
}

void AddEtcd(CLI::App& app) {
  AddLoad(app, "etcd", "Locks and unlocks over etcd's lock service",
          [](const LoadOptions& options) {
            RunClosedLoops(options, MakerOf<EtcdLoop>(GrantLease(options.address)));
          });
}

}  // namespace lockkeeper::bench
