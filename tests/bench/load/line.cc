// SPDX-License-Identifier: Apache-2.0
//
// Many acquires that wait behind held locks: what they cost while nothing happens, and how long a
// hand-over takes. Either all wait for one lock, or each for a lock of its own.
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "bench/load/watch.h"
#include "core/types.h"
#include "lockkeeper/v1/lock_service.grpc.pb.h"

namespace lockkeeper::bench {
namespace {

constexpr int kTtlSeconds = 600;  // The daemon has to allow it: nothing is extended here.
constexpr int kWaitSeconds = 600;
constexpr std::chrono::seconds kPatience{60};

v1::AcquireRequest AcquireOf(const std::string& name) {
  std::random_device random;
  const auto bits = [&random] { return (uint64_t{random()} << 32) | random(); };
  v1::AcquireRequest request;
  request.set_name(name);
  request.set_lease_id(std::string(core::LeaseId::FromBits(bits(), bits()).digits()));
  request.set_owner("bench");
  request.mutable_ttl()->set_seconds(kTtlSeconds);
  return request;
}

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

// Who claims the lock when it is a waiter's turn.
enum class Claims { kDaemon, kWe };

// A waiter's turn has come.
struct Granted {
  v1::Lease lease;
  SteadyClock::time_point at;
};

// Thread-safety: not thread-safe.
class Waiters {
 public:
  Waiters(const std::string& address, size_t connections);
  ~Waiters();
  Waiters(const Waiters&) = delete;
  Waiters& operator=(const Waiters&) = delete;

  void Start(const std::string& name, Claims claims);

  // Waits for the next waiter whose turn has come. Errors: throws std::runtime_error if one was
  // answered something else, or nobody's turn comes.
  Granted Next();

  // All that still wait give up; returns when their calls are over.
  void Leave();

 private:
  struct Call;

  void OnAnswer(Call& call, const grpc::Status& status);

  std::vector<std::unique_ptr<v1::LockService::Stub>> stubs_;
  std::deque<Call> calls_;

  std::mutex mutex_;  // Guards the rest.
  std::condition_variable changed_;
  std::deque<Granted> granted_;
  std::string problem_;
  size_t over_ = 0;
  bool leaving_ = false;
};

Caller::Caller(const std::string& address) {
  locks_ = v1::LockService::NewStub(ConnectAlone(address));
}

v1::Lease Caller::Acquire(const std::string& name) {
  grpc::ClientContext context;
  v1::AcquireResponse response;
  Require(locks_->Acquire(&context, AcquireOf(name), &response));
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

struct Waiters::Call {
  grpc::ClientContext context;
  v1::AcquireRequest request;
  v1::AcquireResponse response;
};

Waiters::Waiters(const std::string& address, size_t connections) {
  for (size_t i = 0; i < connections; ++i) {
    stubs_.push_back(v1::LockService::NewStub(ConnectAlone(address)));
  }
}

Waiters::~Waiters() { Leave(); }

void Waiters::Start(const std::string& name, Claims claims) {
  v1::LockService::Stub& stub = *stubs_[calls_.size() % stubs_.size()];
  Call& call = calls_.emplace_back();
  call.request = AcquireOf(name);
  call.request.mutable_wait_timeout()->set_seconds(kWaitSeconds);
  call.request.set_confirm(claims == Claims::kWe);
  stub.async()->Acquire(&call.context, &call.request, &call.response,
                        [this, &call](const grpc::Status& status) { OnAnswer(call, status); });
}

void Waiters::OnAnswer(Call& call, const grpc::Status& status) {
  const auto now = SteadyClock::now();
  const std::lock_guard lock(mutex_);
  ++over_;
  if (status.ok() && call.response.has_lease()) {
    granted_.push_back({std::move(*call.response.mutable_lease()), now});
  } else if (!leaving_) {
    problem_ = status.ok() ? "a waiter was not granted the lock" : status.error_message();
  }
  changed_.notify_all();
}

Granted Waiters::Next() {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, kPatience, [this] { return !granted_.empty() || !problem_.empty(); });
  if (!problem_.empty()) throw std::runtime_error(problem_);
  if (granted_.empty()) throw std::runtime_error("nobody's turn comes");
  Granted next = std::move(granted_.front());
  granted_.pop_front();
  return next;
}

void Waiters::Leave() {
  {
    const std::lock_guard lock(mutex_);
    leaving_ = true;
  }
  for (Call& call : calls_) call.context.TryCancel();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return over_ == calls_.size(); });
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
