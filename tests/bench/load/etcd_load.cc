// SPDX-License-Identifier: Apache-2.0
//
// etcd's lock service in closed loops: lock and unlock in turn, each loop its own lock, all with
// one lease that outlives the run.
#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "bench/load/call_loop.h"
#include "bench/load/closed_loops.h"
#include "bench/load/latencies.h"
#include "bench/load/program_main.h"
#include "peers/etcd/lease.grpc.pb.h"
#include "peers/etcd/lock.grpc.pb.h"

namespace lockkeeper::bench {
namespace {

constexpr int64_t kTtlSeconds = 3600;

int64_t GrantLease(const std::string& address) {
  etcdserverpb::Lease::Stub leases(ConnectAlone(address));
  grpc::ClientContext context;
  etcdserverpb::LeaseGrantRequest request;
  request.set_ttl(kTtlSeconds);
  etcdserverpb::LeaseGrantResponse response;
  const grpc::Status status = leases.LeaseGrant(&context, request, &response);
  if (!status.ok()) throw std::runtime_error("etcd grants no lease: " + status.error_message());
  return response.id();
}

class EtcdLoop final : public CallLoop {
 public:
  EtcdLoop(LoadControl& control, const std::shared_ptr<grpc::Channel>& channel,
           const std::string& name, int64_t lease)
      : CallLoop(control), stub_(channel) {
    lock_.set_name(name);
    lock_.set_lease(lease);
  }

  void AddTo(LatenciesByCall& latencies) const override {
    latencies["acquire"].Merge(acquires_);
    latencies["release"].Merge(releases_);
  }

 private:
  void Send(grpc::ClientContext& context) override {
    holds_ = !holds_;
    if (holds_) {
      stub_.async()->Lock(&context, &lock_, &locked_,
                          [this](const grpc::Status& status) { Answered(status, acquires_); });
    } else {
      unlock_.set_key(locked_.key());
      stub_.async()->Unlock(&context, &unlock_, &unlocked_,
                            [this](const grpc::Status& status) { Answered(status, releases_); });
    }
  }

  std::string Check() override {
    return holds_ && locked_.key().empty() ? "a lock was not granted" : "";
  }

  bool MayEnd() const override { return !holds_; }

  v3lockpb::Lock::Stub stub_;
  bool holds_ = false;
  v3lockpb::LockRequest lock_;
  v3lockpb::LockResponse locked_;
  v3lockpb::UnlockRequest unlock_;
  v3lockpb::UnlockResponse unlocked_;
  Latencies acquires_, releases_;
};

int Main(int argc, char** argv) {
  LoadOptions options;
  CLI::App app("Locks and unlocks over etcd's lock service");
  AddLoadOptions(app, options);
  CLI11_PARSE(app, argc, argv);
  const int64_t lease = GrantLease(options.address);
  RunClosedLoops(options, [lease](LoadControl& control, const auto& channel, size_t number) {
    return std::make_unique<EtcdLoop>(control, channel,
                                      "bench/lock/" + std::to_string(1000 + number), lease);
  });
  return 0;
}

}  // namespace
}  // namespace lockkeeper::bench

int main(int argc, char** argv) {
  return lockkeeper::bench::ProgramMain("bench_etcd_load",
                                        [&] { return lockkeeper::bench::Main(argc, argv); });
}
