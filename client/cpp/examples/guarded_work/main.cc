// SPDX-License-Identifier: Apache-2.0
//
// guarded_work ADDRESS: does some work in steps while it holds a lock. Exit codes: 0 done, 75
// somebody else has the lock, 70 the lease was lost, 1 anything else.
#include <lockkeeper/client.h>

#include <chrono>
#include <iostream>

namespace {

using namespace std::chrono_literals;

// Everything that the lock guards gets the token: only what checks it is safe from a holder that is
// late without knowing. See fenced_store.
absl::Status DoStep(int step, int64_t fencing_token) {
  std::cout << "step " << step << " under token " << fencing_token << "\n";
  return absl::OkStatus();
}

absl::Status Work(lockkeeper::Lease& lease) {
  if (lease.grant().previous_lease_expired) {
    std::cout << "the one before did not finish: cleaning up first\n";
  }
  for (int step = 1; step <= 3; ++step) {
    // The client renews the lease. If it cannot, `lost` turns true before anybody else can have the
    // lock. Long steps take lease.stop_token() instead of looking now and then.
    if (lease.lost()) return absl::AbortedError("stopped between two steps");
    if (absl::Status status = DoStep(step, lease.fencing_token()); !status.ok()) return status;
  }
  return absl::OkStatus();
}

int ExitCodeOf(const absl::Status& status) {
  if (status.ok()) return 0;
  std::cerr << status.message() << "\n";
  const auto reason = lockkeeper::ReasonOf(status);
  if (reason == lockkeeper::ErrorReason::kNotAcquired) return 75;
  if (reason == lockkeeper::ErrorReason::kLeaseLost) return 70;
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: guarded_work ADDRESS\n";
    return 64;
  }
  absl::StatusOr<lockkeeper::Client> client =
      lockkeeper::Client::Create({.addresses = {argv[1]}, .owner = "guarded_work example"});
  if (!client.ok()) return ExitCodeOf(client.status());

  // stop_margin: `lost` comes two seconds before the lease ends, time to stop cleanly.
  const lockkeeper::AcquireOptions options{
      .ttl = 10s, .labels = {{"example", "guarded_work"}}, .stop_margin = 2s};
  return ExitCodeOf(client->WithLock("examples/guarded_work", options, Work));
}
