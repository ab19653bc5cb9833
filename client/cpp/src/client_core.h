// SPDX-License-Identifier: Apache-2.0
//
// What one Client and all its leases share: connections, threads, and the releases under way. The
// one place where the client's parts are put together.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "acquire/acquire_flow.h"
#include "lockkeeper/client.h"
#include "renewal/boot_clock.h"
#include "renewal/callback_thread.h"
#include "renewal/kept_lease.h"
#include "renewal/releaser.h"
#include "renewal/timer_thread.h"
#include "transport/blocking_operation.h"
#include "transport/channels.h"
#include "transport/daemons.h"
#include "transport/lease_operations.h"

namespace lockkeeper::client {

// Jitter of a generator that is seeded from the kernel.
class RandomJitter final : public Jitter {
 public:
  double Next() override;

 private:
  std::mutex mutex_;
  std::minstd_rand generator_{std::random_device{}()};  // Guarded by mutex_.
};

// Thread-safety: thread-safe, but for destroying.
class ClientCore : public std::enable_shared_from_this<ClientCore> {
 public:
  // Requires: `options` as Client::Create checks them.
  ClientCore(ClientOptions options, std::unique_ptr<Channels> channels);
  // Waits up to release_timeout for the releases under way.
  ~ClientCore();
  ClientCore(const ClientCore&) = delete;
  ClientCore& operator=(const ClientCore&) = delete;

  // As in Client.
  AcquireResult Acquire(std::string_view name, const AcquireOptions& options);
  absl::StatusOr<Lease> Adopt(std::string_view name, std::string_view lease_id,
                              const AdoptOptions& options);
  absl::StatusOr<ReleaseOutcome> Release(std::string_view name, std::string_view lease_id);
  absl::StatusOr<FenceResult> Fence(std::string_view name, int64_t fencing_token,
                                    const FenceOptions& options);

  // Releases a lease that lives for at most `remaining`; waits up to release_timeout.
  absl::StatusOr<ReleaseOutcome> ReleaseHeld(const LeaseRef& lease, Duration remaining);

 private:
  // A lease that was granted, or extended, by a request sent at `sent`.
  struct Holding {
    Granted granted;
    Instant sent;
    LeaseTerms terms;
    std::optional<Duration> extend_ttl;
  };

  CallPorts call_ports() { return {daemons_, clock_, jitter_}; }
  // Keeps the lease. Fails if it is over, or cannot be kept with its stop_margin.
  absl::StatusOr<Lease> Hold(Holding holding);
  // Releases in the background what nobody will use. After `left_behind_for` it is gone by itself.
  void Abandon(LeaseRef lease, Duration left_behind_for);

  const ClientOptions options_;
  const BootClock clock_;
  RandomJitter jitter_;
  CallbackThread callbacks_;
  TimerThread timers_;
  Daemons daemons_;
  LeaseOperations lease_calls_;
  Releaser releaser_;
};

}  // namespace lockkeeper::client
