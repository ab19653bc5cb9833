// SPDX-License-Identifier: Apache-2.0
//
// Messages of clients to requests of the domain, their check, and answers back.
#include <benchmark/benchmark.h>

#include "bench/micro/requests.h"
#include "core/validation.h"
#include "lockkeeper/v1/lock_service.pb.h"
#include "rpc/answer.h"
#include "rpc/operation.h"

namespace lockkeeper::bench {
namespace {

const core::ConfiguredLimits kLimits{.max_ttl = core::Millis(60'000)};

v1::AcquireRequest AcquireMessage() {
  v1::AcquireRequest message;
  message.set_name(NameOfLock(1));
  message.set_lease_id(std::string(LeaseIdOf(1).digits()));
  message.set_owner("bench");
  message.mutable_ttl()->set_seconds(30);
  return message;
}

void ParseAcquire(benchmark::State& state) {
  const std::string bytes = AcquireMessage().SerializeAsString();
  for (auto _ : state) {
    v1::AcquireRequest message;
    benchmark::DoNotOptimize(message.ParseFromString(bytes));
  }
}
BENCHMARK(ParseAcquire);

// With its check.
void ConvertAcquire(benchmark::State& state) {
  const v1::AcquireRequest message = AcquireMessage();
  for (auto _ : state) {
    rpc::Operation operation;
    rpc::Read(message, operation);
    rpc::ApplyDefaults(kLimits, operation);
    benchmark::DoNotOptimize(rpc::Validate(operation, kLimits));
  }
}
BENCHMARK(ConvertAcquire);

void ValidateAcquire(benchmark::State& state) {
  const core::AcquireRequest request = AcquireOf(1);
  for (auto _ : state) benchmark::DoNotOptimize(core::Validate(request, kLimits));
}
BENCHMARK(ValidateAcquire);

void ConvertLease(benchmark::State& state) {
  core::Lease lease;
  lease.name = NameOfLock(1);
  lease.lease_id = LeaseIdOf(1);
  lease.token = core::FencingToken{1'800'000'000'000'000};
  lease.ttl = core::Millis(30'000);
  lease.remaining_ttl = core::Micros(29'999'000);
  lease.lease_end = core::NodeTime{1'800'000'030'000'000};
  for (auto _ : state) {
    v1::AcquireResponse message;
    rpc::ToProto(core::AcquireAnswer(lease), message);
    benchmark::DoNotOptimize(message);
  }
}
BENCHMARK(ConvertLease);

}  // namespace
}  // namespace lockkeeper::bench
