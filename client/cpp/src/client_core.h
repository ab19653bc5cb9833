// SPDX-License-Identifier: Apache-2.0
//
// What one Client and all its leases share: connections, threads, and the releases in flight. The
// composition root of the client.
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
#include "observe/leader_watch.h"
#include "renewal/boot_clock.h"
#include "renewal/callback_thread.h"
#include "renewal/kept_leases.h"
#include "renewal/releaser.h"
#include "renewal/timer_thread.h"
#include "transport/blocking_operation.h"
#include "transport/channels.h"
#include "transport/daemons.h"
#include "transport/lease_operations.h"
#include "transport/watch_operations.h"

namespace lockkeeper::client {

// Jitter from a generator that is seeded by the kernel.
class RandomJitter final : public Jitter {
 public:
  double Next() override;

 private:
  std::mutex mutex_;
  std::minstd_rand generator_{std::random_device{}()};  // Guarded by mutex_.
};

// Thread-safety: thread-safe, except destroying.
class ClientCore : public std::enable_shared_from_this<ClientCore> {
 public:
  // Requires: `options` as Client::Create checks them.
  ClientCore(ClientOptions options, std::unique_ptr<Channels> channels);
  // Waits up to release_timeout for the releases in flight.
  ~ClientCore();
  ClientCore(const ClientCore&) = delete;
  ClientCore& operator=(const ClientCore&) = delete;

  // INVALID_ARGUMENT for an option of an acquire that is checked here.
  static absl::Status Check(const AcquireOptions& options);

  // As in Client.
  AcquireResult Acquire(std::string_view name, const AcquireOptions& options);
  absl::StatusOr<Lease> Adopt(std::string_view name, std::string_view lease_id,
                              const AdoptOptions& options);
  absl::StatusOr<ReleaseOutcome> Release(std::string_view name, std::string_view lease_id);
  absl::StatusOr<FenceResult> Fence(std::string_view name, int64_t fencing_token,
                                    const FenceOptions& options);

  // Leaves a lease to whoever keeps it from now on.
  void Forget(const LeaseRef& lease) { lease_calls_.Forget(lease); }

  // Releases a lease that expires in at most `remaining`. Waits up to release_timeout.
  absl::StatusOr<ReleaseOutcome> ReleaseHeld(const LeaseRef& lease, Duration remaining);

  // For an observer, whose calls must have ended before this is destroyed.
  WatchPorts watch_ports() { return {watch_calls_, clock_, timers_, jitter_}; }

 private:
  // A lease that a request sent at `sent` was granted, or extended.
  struct Holding {
    Granted granted;
    Instant sent;
    LeaseTerms terms;
    std::optional<Duration> extend_ttl;
  };

  CallPorts call_ports() { return {daemons_, clock_, jitter_}; }
  // Begins to renew the lease. Fails if the lease is over, or if its stop_margin leaves no time to
  // renew.
  absl::StatusOr<Lease> Hold(Holding holding);
  // Releases a lease id in the background, because its acquire was given up. Retries until the
  // lease or the place in line must have expired, `expires_in` from now.
  void ReleaseInBackground(LeaseRef lease, TraceContext trace, Duration expires_in);

  const ClientOptions options_;
  const BootClock clock_;
  RandomJitter jitter_;
  CallbackThread callbacks_;
  TimerThread timers_;
  KeptLeases kept_leases_;
  Daemons daemons_;
  LeaseOperations lease_calls_;
  WatchOperations watch_calls_;
  Releaser releaser_;
};

}  // namespace lockkeeper::client
