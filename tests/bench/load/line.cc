// SPDX-License-Identifier: Apache-2.0
//
// Many acquires that wait behind held locks: what they cost while nothing happens, and how long a
// hand-over takes. Either all wait for one lock, or each for a lock of its own.
#include <unistd.h>

#include <chrono>
#include <deque>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "bench/load/waiters.h"
#include "bench/load/watch.h"
#include "lockkeeper/v1/lock_service.grpc.pb.h"

namespace lockkeeper::bench {
namespace {

void Require(const grpc::Status& status) {
  if (!status.ok()) throw std::runtime_error(status.error_message());
}

// Blocking calls on a connection of their own.
//
// Errors: throws std::runtime_error if a call does not do what it should.
// Thread-safety: not thread-safe.
class Caller {
 public:
  explicit Caller(const std::string& address);

  v1::Lease Acquire(const std::string& name);
  void Release(const v1::Lease& lease);

  // Accepts an offer.
  void Claim(const v1::Lease& lease);

 private:
  std::unique_ptr<v1::LockService::Stub> locks_;
};

Caller::Caller(const std::string& address) {
  locks_ = v1::LockService::NewStub(ConnectAlone(address));
}

v1::Lease Caller::Acquire(const std::string& name) {
  grpc::ClientContext context;
  v1::AcquireResponse response;
  Require(locks_->Acquire(&context, LongAcquireOf(name), &response));
  if (!response.has_lease()) throw std::runtime_error("a lock was not granted");
  return std::move(*response.mutable_lease());
}

void Caller::Release(const v1::Lease& lease) {
  grpc::ClientContext context;
  v1::ReleaseRequest request;
  request.set_name(lease.name());
  request.set_lease_id(lease.lease_id());
  v1::ReleaseResponse response;
  Require(locks_->Release(&context, request, &response));
  if (!response.released()) throw std::runtime_error("a lock was not released");
}

void Caller::Claim(const v1::Lease& lease) {
  grpc::ClientContext context;
  v1::ExtendRequest request;
  request.set_name(lease.name());
  request.set_lease_id(lease.lease_id());
  v1::ExtendResponse response;
  Require(locks_->Extend(&context, request, &response));
  if (response.lease().offered()) throw std::runtime_error("an offer was not claimed");
}

constexpr size_t kRoundTrips = 200;
constexpr size_t kBurst = 2000;  // Waiters that come at once.

struct Options : Watched {
  size_t connections = 8;
  size_t waiters = 10;
  bool one_lock = true;
  size_t hand_overs = 100;
  double seconds = 1;  // To look at it idle.
};

// Locks of this process alone: those of an earlier one may still be on their way to be free.
std::string LockName(size_t number) {
  return "bench/line/" + std::to_string(getpid()) + "/" + std::to_string(number);
}

void MeasureRoundTrips(Caller& caller) {
  Latencies latencies;
  for (size_t i = 0; i < kRoundTrips; ++i) {
    auto begin = SteadyClock::now();
    const v1::Lease lease = caller.Acquire("bench/round_trip");
    latencies.Add(SteadyClock::now() - begin);
    begin = SteadyClock::now();
    caller.Release(lease);
    latencies.Add(SteadyClock::now() - begin);
  }
  latencies.Print("round_trip");
}

// From sending Release until the next waiter has the lock: at once if the daemon claims for it;
// otherwise it has an offer first and the lock when its claim is answered. `held` is who has the
// locks, before and after.
void MeasureHandOvers(const Options& options, Caller& caller, Waiters& waiters,
                      std::deque<v1::Lease>& held) {
  Latencies grants, offers, claims;
  const CommandCounts before = CountCommands(options.socket);
  for (size_t i = 0; i < options.hand_overs; ++i) {
    const auto sent = SteadyClock::now();
    caller.Release(held.front());
    held.pop_front();
    Granted granted = waiters.Next();
    (granted.lease.offered() ? offers : grants).Add(granted.at - sent);
    if (granted.lease.offered()) {
      caller.Claim(granted.lease);
      claims.Add(SteadyClock::now() - sent);
    }
    held.push_back(std::move(granted.lease));
  }
  const CommandCounts after = CountCommands(options.socket);
  grants.Print("grant");
  offers.Print("offer");
  claims.Print("claim");
  const auto hand_overs = static_cast<double>(options.hand_overs);
  PrintFigure("sent_per_hand_over", (after.sent - before.sent) / hand_overs);
  PrintFigure("inside_per_hand_over", (after.inside - before.inside) / hand_overs);
}

void Run(const Options& options) {
  if (options.hand_overs > options.waiters)
    throw std::runtime_error("more hand-overs than waiters");
  Caller caller(options.address);
  std::deque<v1::Lease> held;
  for (size_t i = 0; i < (options.one_lock ? 1 : options.waiters); ++i) {
    held.push_back(caller.Acquire(LockName(i)));
  }
  const double memory_before = ResidentBytes(options.daemon);

  Waiters waiters(options.address, options.connections);
  for (size_t i = 0; i < options.waiters; ++i) {
    waiters.Start(LockName(options.one_lock ? 0 : i), i % 2 == 0 ? Claims::kDaemon : Claims::kWe);
    if (i % kBurst == kBurst - 1) AwaitWaiters(options.http, i + 1);
  }
  AwaitWaiters(options.http, options.waiters);
  PrintFigure("bytes_per_waiter", (ResidentBytes(options.daemon) - memory_before) /
                                      static_cast<double>(options.waiters));
  const Cores idle(options);
  LetPass(std::chrono::duration<double>(options.seconds));
  idle.Print("idle");
  MeasureRoundTrips(caller);
  MeasureHandOvers(options, caller, waiters, held);
  waiters.Leave();
  AwaitWaiters(options.http, 0);
  for (const v1::Lease& lease : held) caller.Release(lease);
}

}  // namespace

void AddLine(CLI::App& app) {
  CLI::App& command = *app.add_subcommand("line", "Lets many acquires wait for held locks");
  const auto options = std::make_shared<Options>();
  AddWatchedOptions(command, *options);
  command.add_option("--connections", options->connections)->check(CLI::Range(1, 1024));
  command.add_option("--waiters", options->waiters)->check(CLI::Range(1, 20'000));
  command.add_flag("!--own-locks", options->one_lock, "Each waits for a lock of its own");
  command.add_option("--hand-overs", options->hand_overs, "At most as many as waiters")
      ->check(CLI::Range(2, 20'000));
  command.add_option("--seconds", options->seconds)->check(CLI::Range(0.01, 20.0));
  command.callback([options] { Run(*options); });
}

}  // namespace lockkeeper::bench
