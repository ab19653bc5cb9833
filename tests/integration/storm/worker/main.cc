// SPDX-License-Identifier: Apache-2.0
//
// storm_worker LOCK COUNTER CALLERS ADDRESS...: callers that each stand in line for the lock on a
// connection of their own, raise the counter while they hold it, and release it, until SIGTERM.
// One whose daemon is gone goes on at the next address, with the same lease id. Writes a line for
//   begun                                        its start: from then on SIGTERM ends it well
//   granted LEASE_ID TOKEN WAITED_US RETRIES     each grant
//   failed LEASE_ID REASON                       each acquire that ended without one
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "support/guarded_counter.h"
#include "support/rpc/lock_client.h"
#include "support/rpc/lock_requests.h"

namespace lockkeeper::support {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kTtl{2'000};
constexpr seconds kWait{60};
constexpr milliseconds kHold{1};

volatile std::sig_atomic_t stopping = 0;

class Caller {
 public:
  Caller(std::string lock, const std::string& counter, std::vector<std::string> addresses,
         size_t first)
      : lock_(std::move(lock)), counter_(counter), addresses_(std::move(addresses)), at_(first) {
    Connect();
  }

  void Run() {
    while (stopping == 0) Cycle();
  }

 private:
  void Connect() {
    daemon_ =
        std::make_unique<LockClient>(addresses_[at_ % addresses_.size()], kWait + seconds(10));
  }

  void Cycle() {
    v1::AcquireRequest request = AcquireOf(lock_, NewLeaseId(), kTtl);
    request.mutable_wait_timeout()->set_seconds(kWait.count());
    const Clock::time_point asked = Clock::now();
    int retries = 0;
    auto answer = daemon_->Acquire(request);
    while (Clock::now() < asked + kWait) {
      if (answer.status.error_code() == grpc::StatusCode::UNAVAILABLE) {
        ++at_;
        ++retries;
        Connect();
        request.set_attempt(request.attempt() + 1);
      } else if (request.attempt() > 1 && answer.reason == "LEASE_ENDED") {
        request.set_lease_id(NewLeaseId());  // The lock does not know what became of the tries.
        request.set_attempt(1);
      } else {
        break;
      }
      answer = daemon_->Acquire(request);
    }
    if (!answer.response.has_lease()) {
      const std::string why = answer.ok() ? "contention" : answer.status.error_message();
      std::printf("failed %s %s %s\n", request.lease_id().c_str(), answer.reason.c_str(),
                  why.c_str());
      return;
    }
    const auto waited = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - asked);
    const int64_t token = answer.response.lease().fencing_token();
    std::printf("granted %s %lld %lld %d\n", request.lease_id().c_str(),
                static_cast<long long>(token), static_cast<long long>(waited.count()), retries);
    Raise(token);
    daemon_->Release(ReleaseOf(lock_, request.lease_id()));
  }

  void Raise(int64_t token) {
    const auto value = counter_.Read(token);
    std::this_thread::sleep_for(kHold);
    if (value) counter_.Write(token, *value + 1);
  }

  const std::string lock_;
  GuardedCounter counter_;
  const std::vector<std::string> addresses_;
  size_t at_;
  std::unique_ptr<LockClient> daemon_;
};

int Main(const std::vector<std::string>& arguments) {
  const size_t callers = std::stoul(arguments[2]);
  const std::vector<std::string> addresses(arguments.begin() + 3, arguments.end());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < callers; ++i) {
    threads.emplace_back([&, i] { Caller(arguments[0], arguments[1], addresses, i).Run(); });
  }
  for (std::thread& thread : threads) thread.join();
  return 0;
}

}  // namespace
}  // namespace lockkeeper::support

int main(int argc, char** argv) {
  if (argc < 5) return 64;
  std::signal(SIGTERM, [](int) { lockkeeper::support::stopping = 1; });
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  std::puts("begun");
  return lockkeeper::support::Main({argv + 1, argv + argc});
}
