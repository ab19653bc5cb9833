// SPDX-License-Identifier: Apache-2.0
//
// token_worker ADDRESS LOCK GRANTS: locks and unlocks one lock until it was granted GRANTS times.
// Writes a line of 63 bytes for each grant: when it was asked for, when it was there
// (CLOCK_MONOTONIC, in nanoseconds, one clock for all processes of a machine), and its token.
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string_view>

#include "support/rpc/lock_client.h"
#include "support/rpc/lock_requests.h"

namespace {

using lockkeeper::support::AcquireOf;
using lockkeeper::support::LockClient;
using lockkeeper::support::NewLeaseId;
using lockkeeper::support::ReleaseOf;

int64_t Nanos() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 64;
  LockClient caller(argv[1]);
  const std::string lock = argv[2];
  const std::string_view count = argv[3];
  int64_t grants = 0;
  if (std::from_chars(count.data(), count.data() + count.size(), grants).ec != std::errc()) {
    return 64;
  }
  while (grants > 0) {
    const std::string lease_id = NewLeaseId();
    const int64_t asked = Nanos();
    const auto answer = caller.Acquire(AcquireOf(lock, lease_id, std::chrono::milliseconds(500)));
    const int64_t answered = Nanos();
    if (answer.response.has_lease()) {
      std::printf("%020lld %020lld %020lld\n", static_cast<long long>(asked),
                  static_cast<long long>(answered),
                  static_cast<long long>(answer.response.lease().fencing_token()));
      std::fflush(stdout);
      --grants;
    }
    // Also after an error: whatever was granted is not in the others' way.
    if (answer.response.has_lease() || !answer.ok()) caller.Release(ReleaseOf(lock, lease_id));
  }
  return 0;
}
